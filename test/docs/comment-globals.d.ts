/** The variables and functions that the examples of docs comments use without declaring them. */
declare const baseUrl: string
declare const accessToken: string
declare const clientId: string
declare const clientSecret: string
declare const redirectUri: string
/** At least 32 characters. */
declare const secret: string
declare const storage: import('support-workspace-sdk/oauth').KeyValueStorage
/** The token of a login. */
declare const token: import('support-workspace-sdk/oauth').AccessToken
/** Opens the address as an admin's browser, allows access, and returns the callback address. */
declare function openInBrowser(url: string): Promise<string>
declare const workspace: import('support-workspace-sdk').SupportWorkspace<'self'>
declare const app: import('support-workspace-sdk/oauth').OAuthApp
declare const login: import('support-workspace-sdk/oauth').LoginHandlers
declare const store: import('support-workspace-sdk/oauth').ConnectionStore
/** The key of a connection of the store. */
declare const key: string
/** The id of a conversation. */
declare const id: string
declare const conversationId: string
declare const conversation: import('support-workspace-sdk').Conversation
declare const sandbox: import('support-workspace-sdk/sandbox').Sandbox
/** A request for the page that starts a login. */
declare const request: Request
/** An Express app. */
declare const site: import('express').Express
/** The `test` function of a test runner. */
declare function test(name: string, options: { skip: boolean }, run: () => Promise<void>): void
