import { validationFailed } from '../http-error.ts'
import { isObject } from '../incoming-request.ts'

/**
 * These functions read a field of a JSON body. They throw a 422 if it has the wrong type. `null` is a wrong type too,
 * because no document says that a field can be unset.
 */
export function requiredText(body: Body, name: string): string {
  const value = optionalText(body, name)
  if (value === undefined) throw validationFailed(`\`${name}\` is required.`)
  return value
}

export function optionalText(body: Body, name: string): string | undefined {
  const value = body[name]
  if (value === undefined) return undefined
  if (typeof value !== 'string') throw validationFailed(`\`${name}\` must be a string.`)
  if (value.trim() === '') throw validationFailed(`\`${name}\` must not be empty.`)
  return value
}

export function requiredEmail(body: Body, name: string): string {
  const value = requiredText(body, name)
  if (!/^[^\s@]+@[^\s@]+$/.test(value)) throw validationFailed(`\`${name}\` must be an email address.`)
  return value
}

export function optionalFlag(body: Body, name: string): boolean | undefined {
  const value = body[name]
  if (value === undefined || typeof value === 'boolean') return value
  throw validationFailed(`\`${name}\` must be a boolean.`)
}

export function optionalObject(body: Body, name: string): Record<string, unknown> | undefined {
  const value = body[name]
  if (value === undefined || isObject(value)) return value
  throw validationFailed(`\`${name}\` must be an object.`)
}

export function optionalChoice<Choice extends string>(
  body: Body,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const value = optionalText(body, name)
  if (value === undefined) return undefined
  const choice = choices.find((known) => known === value)
  if (choice === undefined) throw validationFailed(`\`${name}\` must be one of ${choices.join(', ')}.`)
  return choice
}

type Body = Readonly<Record<string, unknown>>
