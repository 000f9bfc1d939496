import type { SupportWorkspace } from '../client/index.ts'
import { type ChangeableOptions, changeableChecks, checkSignal } from '../core/index.ts'
import { InvalidArgumentError } from '../errors/index.ts'
import { type Actor, checkActor } from '../shared/actor.ts'
import { type Check, checkFunction, checkOptions, checkText, readOptions } from '../shared/check-options.ts'
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

/** The options of `ConnectionStore.workspace`: the actor, and the options of the client's `withOptions`. */
export interface WorkspaceOptions<A extends Actor = Actor> extends ChangeableOptions {
  /** The actor that the connection must have. The client then has the calls of that actor. */
  readonly actor?: A | undefined
}

/** A client of the actor, or a union of both clients if the actor is not known. */
export type WorkspaceOf<A extends Actor> = A extends Actor ? SupportWorkspace<A> : never

/** The progress of `reseal`. */
export interface ResealProgress {
  /** The number of connections checked so far. */
  readonly checked: number
  /** The number of connections encrypted again so far. */
  readonly resealed: number
}

/** The options of `ConnectionStore.reseal`. */
export interface ResealOptions {
  /** Called after each connection. */
  readonly onProgress?: ((progress: ResealProgress) => void) | undefined
  /** Stops between two connections. Connections that were encrypted again before stay so. */
  readonly signal?: AbortSignal | undefined
}

/** The result of `ConnectionStore.reseal`. */
export interface ResealResult extends ResealProgress {
  /**
   * One error for each connection whose entry cannot be read, with its `key`. While there is a `secret_unknown`, keep
   * the older secrets that might decrypt its entry.
   */
  readonly unreadable: readonly ConnectionStoreError[]
}

/** Filters connections by actor and by the ids that `/me` returns. A connection must match all of them. */
export interface ConnectionFilter {
  /** Id of the app. */
  readonly application?: string | undefined
  /** Id of the organization. */
  readonly organization?: string | undefined
  /** Who the token acts as. */
  readonly actor?: Actor | undefined
  /** Id of the user. Excludes connections of the app itself. */
  readonly user?: string | undefined
}

/** The options of `ConnectionStore.list`. */
export interface ListConnectionsOptions {
  /**
   * Called for each connection whose entry cannot be read (`secret_unknown`, `entry_damaged`), with an error that has
   * its `key`. The list is without such connections.
   */
  readonly onUnreadable?: ((error: ConnectionStoreError) => void) | undefined
}

const saveChecks = {
  metadata: (_, metadata) => checkMetadata(metadata),
} satisfies Record<keyof SaveOptions, Check<unknown>>

const resealChecks = {
  onProgress: checkFunction<NonNullable<ResealOptions['onProgress']>>,
  signal: checkSignal,
} satisfies Record<keyof ResealOptions, Check<unknown>>

const filterChecks = {
  application: checkText,
  organization: checkText,
  actor: checkActor,
  user: checkText,
} satisfies Record<keyof ConnectionFilter, Check<unknown>>

const listChecks = {
  onUnreadable: checkFunction<NonNullable<ListConnectionsOptions['onUnreadable']>>,
} satisfies Record<keyof ListConnectionsOptions, Check<unknown>>

// Each returns a checked copy of its options, so that the caller can change or reuse the object.
export const readSaveOptions = (options: SaveOptions) => readOptions(options, saveChecks, '`save`')
export const readResealOptions = (options: ResealOptions) => readOptions(options, resealChecks, '`reseal`')
export const readListOptions = (options: ListConnectionsOptions) => readOptions(options, listChecks, '`list`')
/** Rejects unknown filters, because an ignored filter would list the connections of other users. */
export const readFilter = (filter: ConnectionFilter) =>
  readOptions(filter, filterChecks, 'a connection filter', 'filter')

/**
 * Returns the options of the client.
 *
 * @throws InvalidArgumentError if the connection has another actor.
 */
export function readWorkspaceOptions(options: WorkspaceOptions, key: string): ChangeableOptions {
  checkOptions('options', options, { ...changeableChecks(), actor: checkActor }, '`workspace`')
  const { actor, ...changes } = options
  if (actor === undefined || key.startsWith(`${checkActor('actor', actor)}.`)) return changes
  throw new InvalidArgumentError(
    'actor',
    `The connection does not have \`actor=${actor}\`.`,
    'Pass the actor of the login that created the connection, or leave it out.',
  )
}
