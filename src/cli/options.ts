// The options that several commands have, and how their values are read.

import { type Command, InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { usage } from './errors.ts'

/** The option of every command that needs a token. */
export const profileOption = new Option(
  '--profile <name>',
  'name of the login (default: $SUPPORT_WORKSPACE_PROFILE, or the current login)',
)

export const fieldsOption = new Option(
  '--fields <fields>',
  'only these fields, such as id,status,user.email',
).argParser(namesOf)

export const rawOption = new Option(
  '--raw',
  'CSV: do not put a quote before texts that a spreadsheet would take for a formula',
)

/** Creates the option that says how items are written. */
export function formatOption<const Format extends string>(...formats: readonly Format[]) {
  return new Option('--format <format>', 'how to print the items').choices(formats)
}

/** What the parser returns for the options that a function declares. */
export type OptionsOf<Declare extends (program: Command) => { opts(): object }> = ReturnType<
  ReturnType<Declare>['opts']
>

/** Reads a list of names, separated by commas. */
export function listOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((part) => part !== '')
}

/** Reads a list of at least one name. */
export function namesOf(text: string): string[] {
  const names = listOf(text)
  if (names.length > 0) return names
  throw new InvalidArgumentError('Name at least one.')
}

/** Reads an integer of at least 1. */
export function count(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Pass an integer of at least 1.')
}

/** Collects the values of an option that can be repeated. */
export function collect(value: string, before: readonly string[]): string[] {
  return [...before, value]
}

/** Returns a function that collects the `name=value` pairs of an option, each name once. */
export function collectPairs<Value = string>(flag: string, parse = (text: string) => text as Value) {
  return (pair: string, before: Readonly<Record<string, Value>>): Record<string, Value> => {
    const at = pair.indexOf('=')
    const name = pair.slice(0, at)
    if (at < 1) throw usage(`${flag} takes name=value.`, 'Put an = between them.')
    if (Object.hasOwn(before, name)) throw usage(`${flag} has ${name} twice.`, 'Pass it once.')
    return { ...before, [name]: parse(pair.slice(at + 1)) }
  }
}
