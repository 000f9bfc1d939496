/** The variables and functions that the README's examples use without declaring them. */
declare const baseUrl: string
declare const accessToken: string
declare const clientId: string
declare const clientSecret: string
declare const redirectUri: string
/** At least 32 characters. */
declare const secret: string
declare const proxyUrl: string
/** Opens the address as an admin's browser, allows access, and returns the callback address. */
declare function visit(url: string): Promise<string>
/** Stores a value in the reader's own storage or session. */
declare function keep(value: string): Promise<void>
