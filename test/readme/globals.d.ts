/** The variables and functions that the examples of the documentation use without declaring them. */
declare const baseUrl: string
/** A token of a person, with every scope. */
declare const accessToken: string
/** A token of the app. */
declare const appToken: string
declare const clientId: string
declare const clientSecret: string
declare const redirectUri: string
/** At least 32 characters. */
declare const secret: string
declare const newSecret: string
declare const proxyUrl: string
/** The paths of PEM files. */
declare const caFile: string
declare const certFile: string
declare const keyFile: string
/** The connection of BullMQ to a Redis server. */
declare const connection: import('bullmq').ConnectionOptions
/** An empty folder. */
declare const folder: string
/** A storage that all processes share. */
declare const storage: import('support-workspace-sdk/oauth').KeyValueStorage
/** The token of a login. */
declare const token: import('support-workspace-sdk/oauth').AccessToken
/** Opens the address as an admin's browser, allows access, and returns the callback address. */
declare function openInBrowser(url: string): Promise<string>
/** Stores a token in the reader's own storage. */
declare function saveToken(accessToken: string): Promise<void>
/** Stores and returns the key of a connection in the reader's own database. */
declare function saveKey(key: string): Promise<void>
/** Stores a revocation in the reader's own database, unless it is already there. */
declare function saveNotice(key: string, connectedAt: number): Promise<void>
declare function savedKey(): Promise<string>
/** Returns the id of the user who is signed in to the reader's own app. */
declare function currentUser(request: Request): Promise<string | undefined>
