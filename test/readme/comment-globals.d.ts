/** The variables and functions that the examples of docs comments use without declaring them. */
declare const workspace: import('support-workspace-sdk').SupportWorkspace<'self'>
declare const app: import('support-workspace-sdk/oauth').OAuthApp
declare const login: import('support-workspace-sdk/oauth').LoginHandlers
declare const store: import('support-workspace-sdk/oauth').ConnectionStore
/** The key of a connection of the store. */
declare const key: string
/** The id of a conversation. */
declare const id: string
declare const conversationId: string
/** A request for the page that starts a login. */
declare const request: Request
/** An Express app. */
declare const site: import('express').Express
/** The `test` function of a test runner. */
declare function test(name: string, options: { skip: boolean }, run: () => Promise<void>): void
