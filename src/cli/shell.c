/* Completion scripts for bash, zsh and fish. Each calls this program with the words of the line. */
#include "cli/shell.h"

/* bash splits words at = and :, which occur in ids and times. The script joins them again, and inserts only
 * the part after the last separator. */
static const char bash_script[] =
    "# rondo completion for bash: source <(rondo completion bash)\n"
    "_rondo() {\n"
    "    local line word quoted prefix i rest=$COMP_LINE\n"
    "    local -a words=()\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if ((i == 0)) || [[ ! $COMP_LINE || $rest == [[:space:]]* ]]; then words+=(\"$word\"); else "
    "words[${#words[@]} - 1]+=$word; fi\n"
    "        rest=${rest#\"${rest%%[![:space:]]*}\"}\n"
    "        rest=${rest#\"$word\"}\n"
    "    done\n"
    "    word=${words[${#words[@]} - 1]}\n"
    "    prefix=${word%\"${word##*[=:]}\"}\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        word=${line%%$'\\t'*}\n"
    "        printf -v quoted %q \"${word#\"$prefix\"}\"\n"
    "        COMPREPLY+=(\"$quoted\")\n"
    "        if [[ $word == *= ]]; then compopt -o nospace; fi\n"
    "    done < <(\"${COMP_WORDS[0]}\" __complete \"${words[@]:1}\" 2>/dev/null)\n"
    "}\n"
    "complete -o default -F _rondo rondo\n";

static const char zsh_script[] =
    "#compdef rondo\n"
    "# rondo completion for zsh: source <(rondo completion zsh), or save as _rondo in a directory of fpath\n"
    "_rondo() {\n"
    "    local -a lines\n"
    "    local line\n"
    "    while IFS= read -r line; do\n"
    "        lines+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\")\n"
    "    done < <(\"${words[1]}\" __complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)\n"
    "    if (( ${#lines} )); then\n"
    "        _describe 'rondo' lines\n"
    "    else\n"
    "        _files\n"
    "    fi\n"
    "}\n"
    "if [[ \"${funcstack[1]}\" == _rondo ]]; then _rondo \"$@\"; else compdef _rondo rondo; fi\n";

static const char fish_script[] = "# rondo completion for fish: rondo completion fish | source\n"
                                  "function __rondo_complete\n"
                                  "    set -l words (commandline -opc) (commandline -ct)\n"
                                  "    set -l found ($words[1] __complete $words[2..-1] 2>/dev/null)\n"
                                  "    if test (count $found) -gt 0\n"
                                  "        printf '%s\\n' $found\n"
                                  "    else\n"
                                  "        __fish_complete_path (commandline -ct)\n"
                                  "    end\n"
                                  "end\n"
                                  "complete -c rondo -f -k -a '(__rondo_complete)'\n";

const char *shell_script(const char *shell) {
    if (cstr_eq(shell, "bash"))
        return bash_script;
    if (cstr_eq(shell, "zsh"))
        return zsh_script;
    return cstr_eq(shell, "fish") ? fish_script : NULL;
}
