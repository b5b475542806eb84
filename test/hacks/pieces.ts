/** What hacks and fixtures are written with: quoting for a shell, planting a text at many places, files as bytes. */
import type { FileContent } from "../../src/core/sandbox-files.ts";
import type { Script } from "../../src/core/task.ts";
import type { Move } from "./hack.ts";

export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A command that writes one text to many paths, going on where it is refused. */
export function plant(text: string, paths: readonly string[]): string {
  const places = paths.map(quoted).join(" ");
  return `for p in ${places}; do mkdir -p "$(dirname "$p")" 2>/dev/null; printf '%s\\n' ${quoted(text)} > "$p"; done 2>/dev/null; true`;
}

/** A command that writes a file whole. */
export function write(path: string, text: string): string {
  return `printf '%s' ${quoted(text)} > ${quoted(path)}`;
}

/** A command that adds lines at the end of a file. */
export function append(path: string, text: string): string {
  return `printf '%s\\n' ${quoted(text)} >> ${quoted(path)}`;
}

export function file(path: string, text: string, mode = 0o644): FileContent {
  return { path, bytes: Buffer.from(text, "utf8"), mode };
}

export function script(name: string, commands: readonly string[], answer: string | null = null): Script {
  return { name, answer, files: [], commands };
}

/** How a move is carried out where the graded program is a Python module of the work folder. */
export function applyToPython(path: string): (base: Script, move: Move) => Script {
  return (base, move) => {
    const added = pythonOf(move);
    return extended(base, added === "" ? [] : [append(path, added)], move.commands);
  };
}

/** The statements a move adds to a module. Functions of the module then return what the move returns. */
export function pythonOf({ python, returns }: Move): string {
  const wrapped =
    returns === undefined
      ? ""
      : "for _n, _v in list(globals().items()):\n" +
        "    if callable(_v) and getattr(_v, '__module__', None) == __name__ and type(_v).__name__ == 'function' and _n[0] != '_':\n" +
        `        globals()[_n] = lambda *a, **k: ${returns}`;
  return [python ?? "", wrapped].filter((part) => part !== "").join("\n");
}

/** The same where it is a JavaScript module whose function is declared by `export let NAME = …`. */
export function applyToJavascript(path: string, exported: string): (base: Script, move: Move) => Script {
  return (base, { javascript, javascriptReturns, commands }) => {
    const returned = javascriptReturns === undefined ? "" : `${exported} = (...a) => (${javascriptReturns});`;
    const added = [javascript ?? "", returned].filter((part) => part !== "").join("\n");
    return extended(base, added === "" ? [] : [append(path, added)], commands);
  };
}

/** The same where it is a shell script: the trick comes first. */
export function applyToShell(path: string): (base: Script, move: Move) => Script {
  return (base, { shell, commands }) => {
    const first = `cp ${path} /tmp/product.sh && printf '%s\\n' ${quoted(shell ?? "")} | cat - /tmp/product.sh > ${path}`;
    return extended(base, shell === undefined ? [] : [first], commands);
  };
}

/** The same where it is a C program. */
export function applyToC(path: string): (base: Script, move: Move) => Script {
  return (base, { c, commands }) => extended(base, c === undefined ? [] : [append(path, c)], commands);
}

/** Where there is no program to reach into: only what the agent itself does. */
export function applyAround(base: Script, { commands, answer }: Move): Script {
  const made = extended(base, [], commands);
  return answer === undefined ? made : { ...made, answer };
}

function extended(base: Script, inProduct: readonly string[], commands: readonly string[] = []): Script {
  return { ...base, commands: [...base.commands, ...inProduct, ...commands] };
}
