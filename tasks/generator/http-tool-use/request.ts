/**
 * The words of this family: a world is a kind of back office with its collections; a request is what a user asks of the
 * clerk in it. What the data base must hold in the end is worked out here from the drawn rows, apart from the server
 * and from every solution.
 */
import type { Random } from "../../../src/core/random.ts";

/** A value of a row as JSON has it. */
export type Value = string | number | null | readonly string[] | readonly Readonly<Record<string, string | number>>[];

export type Row = Readonly<Record<string, Value>> & { readonly id: string };

type Tables = Readonly<Record<string, readonly Row[]>>;

/** One row that must have changed, or be there anew, in the end. */
export interface Wanted {
  readonly table: string;
  /** Of a row that changed; null for one that is new, whose id is the server's. */
  readonly id: string | null;
  /** What it must hold; of a new row all but free fields. */
  readonly fields: Readonly<Record<string, Value>>;
  /** Which main record it is for. */
  readonly about: string;
  /** What kind of effect it is: the tests of tier unit go by it. Kebab-case. */
  readonly aspect: string;
}

/** What the server has in store for a record. */
interface Faults {
  /** A colleague's edit, made just before the first write that names the record's version. */
  readonly edits: readonly { readonly record: string; readonly set: Readonly<Record<string, Value>> }[];
  /** Creations below this path, of such a row, whose first answer is lost. */
  readonly losses: readonly { readonly path: string; readonly where: Readonly<Record<string, Value>> }[];
}

/** A kind of back office. */
export interface World {
  readonly name: string;
  /** The subject of a note, for example. */
  readonly noteExample: string;
  /** The Python that defines its collections. */
  readonly server: string;
  /** What `/app/API.md` says of its collections, in Markdown, with one table row for each endpoint. */
  readonly api: string;
}

/** A rule of the policy that wrong solutions break. */
export interface RuleFlaw {
  readonly name: string;
  /** `integration` where it has an effect that is forbidden: it then earns nothing. */
  readonly failsTier: "unit" | "integration" | "boundary";
  /** A text of the solution and what stands in its place. */
  readonly from: string;
  readonly to: string;
}

/** Everything one draw decides. */
export interface DrawnRequest {
  readonly world: World;
  readonly slug: string;
  readonly description: string;
  readonly service: string;
  readonly today: string;
  readonly tables: Tables;
  /** The user's own words. */
  readonly ask: string;
  /** Clauses of `/app/POLICY.md`, one sentence or more each. */
  readonly policy: readonly string[];
  readonly wanted: readonly Wanted[];
  readonly faults: Faults;
  /** The collection whose pages matter. */
  readonly main: string;
  /** Main records that lie at the stated edge of a rule and must be treated. */
  readonly edges: readonly string[];
  /** Main records that a colleague edits meanwhile, of which effects are wanted. */
  readonly edited: readonly string[];
  /** Whether it is wrong to send a refused write again for the new version, without a look at the record. */
  readonly isStaleWrong: boolean;
  /** Python after the client: it acts through `api`. */
  readonly solve: string;
  readonly flaws: readonly RuleFlaw[];
}

/** A kind of request. Raising a dial makes it harder. */
export interface RequestKind {
  readonly name: string;
  draw(random: Random, dials: RequestDials): DrawnRequest;
}

export interface RequestDials {
  /** Rows of the main collection. */
  readonly records: number;
  /** How many of the optional clauses are in force, 0 to 3. */
  readonly clauses: number;
  /** 1: limit and lost answers; 2: a colleague's edit besides; 3: one that changes what is right. */
  readonly faults: number;
}

/** The first page at its largest: what lies after it is found only by going on. */
export const PAGE = 20;
