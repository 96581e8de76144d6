/* The entry point. Everything else is in program.c, which tests can link. */
#include "main/program.h"

int main(int argc, char **argv) {
    return program_main(argc, argv);
}
