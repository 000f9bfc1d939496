// The options that several commands have, and how their values are read.

import { type Command, InvalidArgumentError, Option, type OptionValues } from '@commander-js/extra-typings'
import { usage } from './errors.ts'

/** The option of every command that needs a token. */
export const profileOption = new Option(
  '--profile <name>',
  'the login to use (default: $SUPPORT_WORKSPACE_PROFILE, or the current one)',
)

export const fieldsOption = new Option(
  '--fields <fields>',
  'only these fields, such as id,status,user.email',
).argParser(namesOf)

export const undocumentedOption = new Option(
  '--undocumented',
  'send names that the documents of the service do not have',
)

/** The options that say how CSV and times are written. */
interface Layout {
  readonly raw?: true | undefined
  readonly bom?: true | undefined
  readonly delimiter?: ',' | ';' | '|' | 'tab' | undefined
  readonly dates?: 'epoch' | 'iso' | undefined
  readonly utc?: true | undefined
}

/**
 * Adds the options of `Layout`. Their types are written by hand, because the compiler takes minutes to infer them for a
 * command whose type is a parameter.
 */
export function addLayout<Args extends unknown[], Opts extends OptionValues>(command: Command<Args, Opts>) {
  const options = [
    new Option('--raw', 'CSV: put no quote before texts that a spreadsheet runs as formulas'),
    new Option('--bom', 'CSV: begin with a byte order mark, which Excel needs for UTF-8'),
    new Option('--delimiter <character>', 'CSV: between the cells').choices([',', ';', '|', 'tab']),
    new Option('--dates <form>', 'CSV: times as epoch seconds or as text').choices(['epoch', 'iso']),
    new Option('--utc', 'show times in UTC (default: local time)'),
  ]
  for (const option of options) command.addOption(option as Option)
  return command as object as Command<Args, Opts & Layout>
}

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

/** Reads the name of a file or folder. */
export function pathName(text: string): string {
  if (text !== '') return text
  throw new InvalidArgumentError('Name a file or folder.')
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

/** Returns a function that collects the `name=value` pairs of an option, each name once. The first `=` ends the name. */
export function collectPairs<Value = string>(
  flag: string,
  parse = (text: string) => text as Value,
  find: 'indexOf' | 'lastIndexOf' = 'indexOf',
) {
  return (pair: string, before: Readonly<Record<string, Value>>): Record<string, Value> => {
    const at = pair[find]('=')
    const name = pair.slice(0, at)
    if (at < 1) throw usage(`${flag} takes name=value.`, 'Put an = between them.')
    if (Object.hasOwn(before, name)) throw usage(`${flag} has ${name} twice.`, 'Pass it once.')
    return { ...before, [name]: parse(pair.slice(at + 1)) }
  }
}

export const queryOption = new Option('-q, --query <name=value>', 'query parameter; can be repeated')
  .argParser(collectPairs('-q'))
  .default({})
