/**
 * The client of one OpenAI-compatible endpoint, and the key it is asked with. The key is named by its environment
 * variable, read once, and appears in no record and no message: everything that comes back passes `withoutKey` first.
 */
import OpenAI from "openai";
import { Failure } from "../core/errors.ts";

const DEFAULT_KEY_VARIABLE = "OPENAI_API_KEY";

/** Which endpoint, and where its key is. */
export interface EndpointClientOptions {
  /** Null: the client's own default address. */
  readonly baseUrl: string | null;
  /** Name of the environment variable that holds the key; null: `OPENAI_API_KEY`, which may then be unset. */
  readonly keyVariable: string | null;
}

/** A client that tries nothing twice and logs nothing. Throws `config_invalid` when a named variable is not set. */
export function endpointClient({ baseUrl, keyVariable }: EndpointClientOptions): {
  readonly client: OpenAI;
  readonly key: string | null;
} {
  const key = keyOf(keyVariable);
  const client = new OpenAI({
    apiKey: key ?? "none",
    ...(baseUrl === null ? {} : { baseURL: baseUrl }),
    organization: null,
    project: null,
    maxRetries: 0,
    logLevel: "off",
  });
  return { client, key };
}

/** The text with every whole occurrence of the key replaced. */
export function withoutKey(text: string, key: string | null): string {
  return key === null ? text : text.replaceAll(key, "[key]");
}

function keyOf(variable: string | null): string | null {
  const value = process.env[variable ?? DEFAULT_KEY_VARIABLE];
  if (value !== undefined && value !== "") return value;
  if (variable === null) return null;
  throw new Failure(
    "config_invalid",
    `The environment variable ${variable}, which should hold the endpoint's key, is not set.`,
  );
}
