/** `sandlot completion bash|zsh|fish`: completions written from the command tree itself, so they are never behind it. */
import { Argument, type Command } from "commander";
import { action } from "./context.ts";
import { EXIT } from "./exit-code.ts";

export function addCompletion(program: Command): void {
  program
    .command("completion")
    .summary("completions for a shell")
    .description("Prints the completions of a shell; put them where that shell looks, or source them.")
    .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"]))
    .addHelpText("after", "\nExample:\n  source <(sandlot completion bash)\n")
    .action(
      action(async (context, args) => {
        const text = args[0] === "fish" ? fishText(program) : bashText(program, args[0] === "zsh");
        if (context.isJson) context.json({ shell: args[0], text });
        else context.print(text);
        return EXIT.done;
      }),
    );
}

interface Node {
  /** Words from the program to this command: `run list`. */
  readonly path: string;
  readonly summary: string;
  readonly words: readonly string[];
}

/** Every command with what may follow it: commands below it and its options. */
function nodesOf(command: Command, path: readonly string[], globals: readonly string[]): Node[] {
  const flags = command.options.flatMap(({ long }) => (long ? [long] : []));
  const below = command.commands.map((child) => child.name());
  const words = [...below, ...flags, ...globals, "--help"];
  const own = { path: path.join(" "), summary: command.summary() || command.description(), words };
  return [own, ...command.commands.flatMap((child) => nodesOf(child, [...path, child.name()], globals))];
}

function treeOf(program: Command): readonly Node[] {
  const globals = program.options.flatMap(({ long }) => (long ? [long] : []));
  return nodesOf(program, [], globals).map((node) => ({ ...node, words: [...new Set(node.words)] }));
}

/** One function that finds the command typed so far; files complete where no word fits. zsh reads it by its own bridge. */
function bashText(program: Command, isZsh: boolean): string {
  const cases = treeOf(program).map(({ path, words }) => `    "${path}") words="${words.join(" ")}" ;;`);
  const paths = treeOf(program).map(({ path }) => `"${path}"`);
  return [
    ...(isZsh ? ["autoload -U +X bashcompinit && bashcompinit"] : []),
    "_sandlot() {",
    '  local path="" word words="" index',
    "  for ((index = 1; index < COMP_CWORD; index += 1)); do",
    `    word="\${path:+$path }\${COMP_WORDS[index]}"`,
    `    case "$word" in ${paths.slice(1).join("|")}) path="$word" ;; esac`,
    "  done",
    '  case "$path" in',
    ...cases,
    "  esac",
    '  COMPREPLY=($(compgen -W "$words" -- "$' + '{COMP_WORDS[COMP_CWORD]}"))',
    "}",
    "complete -o default -F _sandlot sandlot",
  ].join("\n");
}

function fishText(program: Command): string {
  const quote = (text: string): string => `'${text.replaceAll("'", "\\'")}'`;
  const lines = program.commands.flatMap((command) => [
    `complete -c sandlot -f -n __fish_use_subcommand -a ${command.name()} -d ${quote(command.summary())}`,
    ...command.commands.map(
      (child) =>
        `complete -c sandlot -f -n '__fish_seen_subcommand_from ${command.name()}' -a ${child.name()} -d ${quote(child.description())}`,
    ),
    ...command.options.map(
      ({ long, description }) =>
        `complete -c sandlot -n '__fish_seen_subcommand_from ${command.name()}' -l ${(long ?? "--").slice(2)} -d ${quote(description)}`,
    ),
  ]);
  return lines.join("\n");
}
