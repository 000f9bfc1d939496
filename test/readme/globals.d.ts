/** What the README's examples take as given. */
declare const baseUrl: string
declare const accessToken: string
declare const clientId: string
declare const clientSecret: string
declare const redirectUri: string
/** 32 characters or more. */
declare const secret: string
declare const proxyUrl: string
/** The admin's browser: opens the address, allows, and gives the address it came back to. */
declare function visit(url: string): Promise<string>
/** The reader's own storage or session. */
declare function keep(value: string): Promise<void>
