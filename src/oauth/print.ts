/**
 * What Node's `util.inspect` and `console.log` ask an object for. The symbol is registered, so no Node module is needed;
 * elsewhere nobody asks.
 */
export const inspectSymbol: unique symbol = Symbol.for('nodejs.util.inspect.custom') as never

/** What stands in print, JSON and logs where a secret would. */
export const placeholder = '[redacted]'

/** A class name and plain data, printed as Node prints an instance. */
export function printAs(name: string, data: unknown, options: unknown, inspect: unknown): string {
  return `${name} ${typeof inspect === 'function' ? inspect(data, options) : JSON.stringify(data)}`
}
