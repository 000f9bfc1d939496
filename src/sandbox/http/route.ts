import type { Exchange } from './exchange.ts'

/** One method of one path. */
export interface Route {
  readonly name: string
  readonly method: string
  /** With `:name` for what varies. */
  readonly path: string
  readonly answer: (exchange: Exchange, parameter: (name: string) => string) => Response
}
