/* Text inside the quotes of a JSON string. The one copy for all layers; json/writer.h writes whole JSON. */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/str.h"

/* The letter of a character that JSON escapes as a backslash and one letter; 0 for all others. */
char escape_json_letter(unsigned char c);

/* Appends the text without quotes. Control characters, quotes and backslashes are escaped; each byte that is
 * not UTF-8 becomes U+FFFD. Fails as the buffer does (sticky). */
void escape_json(struct buf *out, struct str text);
/* The same with quotes around it. */
void escape_json_quoted(struct buf *out, struct str text);
