// The options that several commands have, and how their values are read.

import { type Command, InvalidArgumentError, Option } from 'commander'
import { usage } from './errors.ts'

/** The option of every command that needs a token. */
export const profileOption = new Option(
  '--profile <name>',
  'name of the login (default: $SUPPORT_WORKSPACE_PROFILE, or the current login)',
)

/** How rows are written. */
export interface FormatFlags {
  readonly format?: Format
  readonly fields?: readonly string[]
  readonly raw?: boolean
}

export type Format = 'table' | 'ndjson' | 'json' | 'csv'

/** Adds the options that say how rows are written. */
export function withFormatOptions(command: Command, formats: readonly Format[]): Command {
  return command
    .addOption(new Option('--format <format>', 'how to print the items').choices(formats))
    .option('--fields <fields>', 'only these fields, such as id,status,user.email', namesOf)
    .option('--raw', 'CSV: do not put a quote before texts that a spreadsheet would take for a formula')
}

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
