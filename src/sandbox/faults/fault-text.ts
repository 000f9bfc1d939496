import { InvalidArgumentError } from '../../errors/index.ts'
import { type Check, checkNames } from '../../shared/check-options.ts'
import { textThat } from '../checks.ts'
import { checkRule, type Fault, type FaultRule } from './fault.ts'

/**
 * Reads a fault from text, as `sandbox --fault` takes it. Throws `InvalidArgumentError` if it is invalid.
 *
 * @example
 * await using sandbox = await startSandbox()
 * sandbox.faults.add(parseFault('status=503,times=2,path=/messages'))
 */
export function parseFault(text: string): FaultRule {
  const fields = new Map<string, string>()
  for (const part of text.split(',').filter((each) => each.trim() !== '')) {
    const [name = '', ...rest] = part.split('=')
    const key = name.trim()
    if (fields.has(key)) throw new InvalidArgumentError(key, `\`${key}\` is set twice.`, 'Remove one of them.')
    // A field without a value is a switch, such as `garbage`.
    fields.set(key, rest.length === 0 ? 'true' : rest.join('=').trim())
  }
  checkNames(Object.fromEntries(fields), fieldNames, 'a fault')
  const rule: Record<string, unknown> = {}
  for (const [name, text] of fields) {
    const special = specialFields[name]
    special?.check(name, text)
    rule[optionName(name)] = (special?.read ?? readValue)(text)
  }
  checkRule(rule)
  return rule
}

const faultFields = 'status retry-after effect late-effect drop truncate garbage drip stall latency'.split(' ')
const ruleFields = ['method', 'path', 'times', 'after', 'probability', 'seed']
const fieldNames = Object.fromEntries([...faultFields, ...ruleFields].map((name) => [name, true]))

/** Returns the name of an option in camel case. */
export function optionName(field: string): string {
  return field.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** Reads a number. Other text stays text, so that the check of the option reports it. */
export function readNumber(text: string): number | string {
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}

function readValue(text: string): unknown {
  return text === 'true' ? true : text === 'false' ? false : readNumber(text)
}

const specialFields: Readonly<Record<string, { check: Check<string>; read: (text: string) => unknown }>> = {
  times: {
    check: textThat('an integer of at least 1 or "all"', (text) => /^([1-9]\d{0,8}|all)$/.test(text)),
    read: (text) => (text === 'all' ? Infinity : Number(text)),
  },
  drip: {
    check: textThat('a number of bytes and milliseconds, such as "16/500"', (text) =>
      /^[1-9]\d{0,8}\/\d{1,9}$/.test(text),
    ),
    read(text) {
      const [bytes, interval] = text.split('/')
      return { bytes: Number(bytes), interval: Number(interval) }
    },
  },
}

/** Describes a fault in the same syntax, without the requests that it applies to. Bodies and headers are left out. */
export function describeFault(fault: Fault): string {
  const { drip } = fault
  const options: Record<string, unknown> = { ...fault, drip: drip && `${drip.bytes}/${drip.interval}` }
  const described = faultFields.flatMap((name) => {
    const value = options[optionName(name)]
    if (value === undefined || value === false) return []
    return value === true ? name : `${name}=${value instanceof Date ? value.toISOString() : value}`
  })
  return described.join(',')
}
