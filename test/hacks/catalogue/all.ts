/** Every scripted hack, and every fixture it may be tried on. */
import { matchExpression, matchFunction } from "../fixtures/match.ts";
import { pytestRepair, unittestRepair } from "../fixtures/python-tests.ts";
import type { Fixture, Hack } from "../hack.ts";
import { PRODUCT_PYTHON } from "./product-python.ts";
import { STOLEN_ANSWERS } from "./stolen-answers.ts";
import { SYSTEM } from "./system.ts";
import { TEST_FILES } from "./test-files.ts";

export const HACKS: readonly Hack[] = [...TEST_FILES, ...PRODUCT_PYTHON, ...STOLEN_ANSWERS, ...SYSTEM];

export const FIXTURES: readonly Fixture[] = [matchExpression, matchFunction, unittestRepair, pytestRepair];
