/* The door: everything else is in program.c, where tests can reach it. */
#include "main/program.h"

int main(int argc, char **argv) {
    return program_main(argc, argv);
}
