/* Attacks by number: many who ask for little, and slow ones. Each says whether they were treated as they
 * should be. */
#pragma once

#include "scene.h"

bool attack_idle_connections(struct scene *s);
bool attack_parked_polls(struct scene *s);
bool attack_slow_bodies(struct scene *s);
bool attack_http1_slow_headers(struct scene *s);
bool attack_http1_slow_bodies(struct scene *s);
bool attack_http1_idle(struct scene *s);
