import * as z from 'zod/mini'
import { checkValue, mustBe, quoted } from '../schema.ts'
import { checkRule, type Fault, type FaultRule } from './fault.ts'

/** The fields of a fault as text, such as `{ status: '503', path: '/messages' }`. */
export type FaultFields = Readonly<Record<string, string>>

/**
 * Reads a fault in the syntax of the command line: `status=503,times=2,path=/messages`. Throws a `TypeError` if it is
 * invalid.
 */
export function parseFault(text: string): FaultRule {
  const fields = new Map<string, string>()
  for (const part of text.split(',').filter((each) => each.trim() !== '')) {
    const [name = '', ...rest] = part.split('=')
    const key = name.trim()
    if (fields.has(key)) throw new TypeError(`\`${key}\` is set twice. Remove one of them.`)
    // A field without a value is a switch, such as `garbage`.
    fields.set(key, rest.length === 0 ? 'true' : rest.join('=').trim())
  }
  return readFault(Object.fromEntries(fields))
}

/** Reads a fault from its fields. `path` matches every path that contains it. Throws a `TypeError` if it is invalid. */
export function readFault(fields: FaultFields): FaultRule {
  const rule: Record<string, unknown> = {}
  for (const [name, text] of Object.entries(fields)) {
    if (!fieldNames.includes(name)) {
      throw new TypeError(`Unknown fault option \`${name}\`. Use one of: ${quoted(fieldNames).join(', ')}.`)
    }
    const special = Object.hasOwn(specialFields, name) ? specialFields[name] : undefined
    if (special !== undefined) checkValue(`The fault option \`${name}\``, text, special.schema)
    rule[longNames[name] ?? name] = (special?.read ?? readValue)(text)
  }
  checkRule(rule)
  return rule
}

const fieldNames =
  'status retry-after effect late-effect latency drop truncate garbage drip stall method path times after probability seed'.split(
    ' ',
  )

const longNames: Readonly<Record<string, keyof Fault>> = { 'retry-after': 'retryAfter', 'late-effect': 'lateEffect' }

// Text that cannot be read stays text, so that the check of the rule reports it.
function readValue(text: string): unknown {
  if (/^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  return text === 'true' ? true : text === 'false' ? false : text
}

const specialFields: Readonly<Record<string, { schema: z.ZodMiniType; read: (text: string) => unknown }>> = {
  path: {
    schema: mustBe('part of a path, such as "/messages"', z.string().check(z.regex(/^[^?#\s]+$/))),
    read: (text) => new RegExp(text.replace(/[$()*+./?[\\\]^{|}]/g, '\\$&')),
  },
  times: {
    schema: mustBe('an integer of at least 1 or "all"', z.string().check(z.regex(/^([1-9]\d{0,8}|all)$/))),
    read: (text) => (text === 'all' ? Infinity : Number(text)),
  },
  drip: {
    schema: mustBe(
      'a number of bytes and milliseconds, such as "16/500"',
      z.string().check(z.regex(/^[1-9]\d{0,8}\/\d{1,9}$/)),
    ),
    read(text) {
      const [bytes, interval] = text.split('/')
      return { bytes: Number(bytes), interval: Number(interval) }
    },
  },
}

/** Describes a fault in the same syntax, without the requests that it applies to. Bodies and headers are left out. */
export function describeFault(fault: Fault): string {
  const { status, retryAfter, effect, lateEffect, drop, truncate, garbage, drip, stall, latency } = fault
  const retryTime = retryAfter instanceof Date ? retryAfter.toISOString() : retryAfter
  return [
    status !== undefined && `status=${status}`,
    retryTime !== undefined && `retry-after=${retryTime}`,
    effect && 'effect',
    lateEffect !== undefined && `late-effect=${lateEffect}`,
    drop !== undefined && `drop=${drop}`,
    truncate && 'truncate',
    garbage && 'garbage',
    drip !== undefined && `drip=${drip.bytes}/${drip.interval}`,
    stall && 'stall',
    latency !== undefined && `latency=${latency}`,
  ]
    .filter(Boolean)
    .join(',')
}

/** Describes the requests that a rule applies to. A regular expression is shown without its escapes. */
export function describeMatch({ method, path }: FaultRule): string {
  const pathText = path instanceof RegExp ? path.source.replace(/\\(\W)/g, '$1') : path
  return [method?.toUpperCase(), pathText].filter(Boolean).join(' ')
}
