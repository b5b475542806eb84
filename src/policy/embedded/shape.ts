/**
 * Model shapes and where each tensor lies in the flat parameters. The order here is the order of `native/engine/layout.c`;
 * a checkpoint names every tensor by it.
 */
import { Failure } from "../../core/errors.ts";
import type { Tensor } from "../safetensors.ts";

/** A decoder-only transformer with heads of 32 and feed-forward width 4d. */
export interface ModelShape {
  readonly layers: number;
  /** A multiple of 32. */
  readonly width: number;
  /** Most tokens of one sequence, prompt and continuation together. */
  readonly context: number;
}

export const SHAPE_PRESETS = {
  nano: { layers: 2, width: 64, context: 96 },
  micro: { layers: 2, width: 128, context: 256 },
  mini: { layers: 3, width: 160, context: 192 },
  small: { layers: 4, width: 256, context: 512 },
} as const satisfies Record<string, ModelShape>;

export type ShapePreset = keyof typeof SHAPE_PRESETS;

/** The shape a preset names, or the shape itself, with another context when given. Throws `config_invalid`. */
export function resolveShape(shape: ModelShape | ShapePreset, contextMax?: number): ModelShape {
  const named = typeof shape === "string" ? (SHAPE_PRESETS as Readonly<Record<string, ModelShape>>)[shape] : shape;
  if (named === undefined) {
    refuse(`There is no model shape "${String(shape)}"; choose ${Object.keys(SHAPE_PRESETS).join(", ")}.`);
  }
  const { layers, width, context } = { ...named, ...(contextMax === undefined ? {} : { context: contextMax }) };
  if (!Number.isInteger(layers) || layers < 1 || layers > 64) refuse(`Model layers must be 1 to 64, not ${layers}.`);
  if (!Number.isInteger(width) || width < 32 || width > 4096 || width % 32 !== 0) {
    refuse(`Model width must be a multiple of 32 from 32 to 4096, not ${width}.`);
  }
  if (!Number.isInteger(context) || context < 2 || context > 65_536) {
    refuse(`The model's context must be 2 to 65536 tokens, not ${context}.`);
  }
  return { layers, width, context };
}

function refuse(message: string): never {
  throw new Failure("config_invalid", message);
}

interface TensorPlace {
  readonly name: string;
  readonly shape: readonly number[];
}

function tensorPlaces(shape: ModelShape, vocab: number): TensorPlace[] {
  const { layers, width: d } = shape;
  const places: TensorPlace[] = [{ name: "embed.weight", shape: [vocab, d] }];
  for (let layer = 0; layer < layers; layer += 1) {
    const prefix = `layers.${layer}.`;
    places.push(
      { name: `${prefix}norm1.weight`, shape: [d] },
      { name: `${prefix}qkv.weight`, shape: [d, 3 * d] },
      { name: `${prefix}out.weight`, shape: [d, d] },
      { name: `${prefix}norm2.weight`, shape: [d] },
      { name: `${prefix}up.weight`, shape: [d, 4 * d] },
      { name: `${prefix}down.weight`, shape: [4 * d, d] },
    );
  }
  places.push({ name: "norm.weight", shape: [d] }, { name: "head.weight", shape: [vocab, d] });
  return places;
}

/** Views of the flat parameters, one for each tensor; matrices but `embed` and `head` are [in, out]. */
export function tensorsOf(shape: ModelShape, vocab: number, flat: Float32Array): Tensor[] {
  let offset = 0;
  return tensorPlaces(shape, vocab).map(({ name, shape: lengths }) => {
    const count = lengths.reduce((product, length) => product * length, 1);
    const data = flat.subarray(offset, offset + count);
    offset += count;
    return { name, shape: lengths, data };
  });
}

/** Fills `flat` from named tensors; returns the name of the first that is absent or has another shape, else null. */
export function fillFromTensors(
  shape: ModelShape,
  vocab: number,
  tensors: ReadonlyMap<string, Tensor>,
  flat: Float32Array,
): string | null {
  for (const { name, shape: lengths, data } of tensorsOf(shape, vocab, flat)) {
    const tensor = tensors.get(name);
    if (tensor === undefined || tensor.shape.join() !== lengths.join()) return name;
    data.set(tensor.data);
  }
  return null;
}
