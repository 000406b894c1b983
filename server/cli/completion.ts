import type { Command } from 'commander'

export type Shell = 'bash' | 'zsh' | 'fish'

type Word = [word: string, meaning: string]
/** `path` is the command that precedes the words, such as `users create`. It is empty for `errand` itself. */
type Node = { path: string; words: Word[] }

/**
 * Returns a shell script that completes commands and options. The script contains all of them, so completion does not
 * start a process.
 */
export function completionScript(program: Command, shell: Shell): string {
  return scripts[shell](nodesOf(program, ''))
}

function nodesOf(command: Command, path: string): Node[] {
  const help = command.createHelp()
  const options = help.visibleOptions(command).map(({ description, long }): Word => [long ?? '', description])
  const commands = help.visibleCommands(command).map((child): Word => [child.name(), child.description()])
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) =>
    argChoices.map((word): Word => [word, '']),
  )
  const children = command.commands.flatMap((child) => nodesOf(child, `${path} ${child.name()}`.trim()))
  return [{ path, words: [...commands, ...choices, ...options] }, ...children]
}

const scripts: Record<Shell, (nodes: readonly Node[]) => string> = {
  bash: (nodes) => `_errand() {
  local path= words word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${path:+$path }$word" in
      ${patternOf(nodes)}) path="\${path:+$path }$word" ;;
    esac
  done
  case "$path" in
${nodes.map(({ path, words }) => `    ${quote(path)}) words=${quote(words.map(([word]) => word).join(' '))} ;;`).join('\n')}
  esac
  # Without a dash, options are not offered, so that file names are.
  [[ \${COMP_WORDS[COMP_CWORD]} == -* ]] || words=" $words" words="\${words// --*/}"
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _errand errand
`,
  zsh: (nodes) => `#compdef errand
_errand() {
  local at= word
  local -a found
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${at:+$at }$word" in
      ${patternOf(nodes)}) at="\${at:+$at }$word" ;;
    esac
  done
  case "$at" in
${nodes.map(({ path, words }) => `    ${quote(path)}) found=(${words.map(describeForZsh).join(' ')}) ;;`).join('\n')}
  esac
  [[ $PREFIX == -* ]] || found=("\${(@)found:#--*}")
  (( $#found )) && _describe command found || _files
}
compdef _errand errand
`,
  fish: (nodes) => `function __errand_at
  set -l at ''
  for word in (commandline -opc)[2..]
    switch (string trim "$at $word")
      case ${nodes
        .filter(({ path }) => path !== '')
        .map(({ path }) => quote(path))
        .join(' ')}
        set at (string trim "$at $word")
    end
  end
  test "$at" = "$argv[1]"
end
${nodes.flatMap(({ path, words }) => words.map((word) => lineForFish(path, word))).join('\n')}
`,
}

function patternOf(nodes: readonly Node[]): string {
  return nodes
    .filter(({ path }) => path !== '')
    .map(({ path }) => quote(path))
    .join(' | ')
}

function describeForZsh([word, meaning]: Word): string {
  return quote(`${word.replaceAll(':', '\\:')}:${meaning}`)
}

function lineForFish(path: string, [word, meaning]: Word): string {
  const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-fa ${quote(word)}`
  return `complete -c errand -n ${quote(`__errand_at ${quote(path)}`)} ${what} -d ${quote(meaning)}`
}

/**
 * Quotes a string for bash, zsh and fish. The string must not contain a backslash, because only fish interprets it
 * within single quotes.
 */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'"'"'`)}'`
}
