import type { Actor } from '../actor.ts'
import { checkOptionalFunction, checkOptions } from '../check-options.ts'
import type { SupportWorkspace } from '../client.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import { checkSignal } from '../http/input.ts'
import { type ChangeableOptions, changeableChecks } from '../http/settings.ts'
import type { WebAbortSignal } from '../web-types.ts'
import { type ConnectionMetadata, checkMetadata } from './connection.ts'
import type { ConnectionStoreError } from './connection-store-error.ts'

/** The options of `ConnectionStore.save`. */
export interface SaveOptions {
  /**
   * Your own data about the connection: a JSON object.
   * @default the metadata that the connection had before this login
   */
  readonly metadata?: ConnectionMetadata | undefined
}

const saveOptionNames = { metadata: true } satisfies Record<keyof SaveOptions, true>

/** Returns a copy of the metadata. */
export function readSaveOptions(options: SaveOptions): ConnectionMetadata | undefined {
  checkOptions('options', options, saveOptionNames, '`save`')
  return options.metadata === undefined ? undefined : checkMetadata(options.metadata)
}

/** The options of `ConnectionStore.workspace`: its actor, and what `withOptions` of a client takes. */
export interface WorkspaceOptions<A extends Actor = Actor> extends ChangeableOptions {
  /** The actor that the connection must have. The client then has the calls of that actor. */
  readonly actor?: A | undefined
}

/** A client of the actor, or of either one. */
export type WorkspaceOf<A extends Actor> = A extends Actor ? SupportWorkspace<A> : never

/**
 * Returns the options of the client.
 *
 * @throws InvalidArgumentError if the key is that of a connection with another actor.
 */
export function checkWorkspaceOptions(options: WorkspaceOptions, key: string): ChangeableOptions {
  checkOptions('options', options, { ...changeableChecks(), actor: true }, '`workspace`')
  const { actor, ...changes } = options
  if (actor === undefined || key.startsWith(`${actor}.`)) return changes
  throw new InvalidArgumentError(
    'actor',
    actor === 'app' || actor === 'self'
      ? `The connection does not have \`actor=${actor}\`.`
      : '`actor` must be "app" or "self".',
    'Pass the actor of the login that created the connection, or leave it out.',
  )
}

/** The progress of `reseal`. */
export interface ResealProgress {
  /** The number of connections checked so far. */
  readonly checked: number
  /** The number of connections resealed so far. */
  readonly resealed: number
}

/** The options of `ConnectionStore.reseal`. */
export interface ResealOptions {
  /** Called after each connection. */
  readonly onProgress?: ((progress: ResealProgress) => void) | undefined
  /** Stops between two connections. Connections resealed before stay resealed. */
  readonly signal?: WebAbortSignal | undefined
}

const resealOptionNames = { onProgress: true, signal: true } satisfies Record<keyof ResealOptions, true>

/** The result of `ConnectionStore.reseal`. */
export interface ResealResult extends ResealProgress {
  /**
   * One error for each connection whose entry cannot be read, with its `key`. While there is a `secret_unknown`, keep the
   * older secrets that may open its entry.
   */
  readonly unreadable: readonly ConnectionStoreError[]
}

/** Returns a copy of the options of `reseal`. */
export function readResealOptions(options: ResealOptions): ResealOptions {
  checkOptions('options', options, resealOptionNames, '`reseal`')
  const { onProgress, signal } = options
  checkSignal('signal', signal)
  return { onProgress: checkOptionalFunction('onProgress', onProgress), signal }
}
