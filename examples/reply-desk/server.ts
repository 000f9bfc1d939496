/** The page where people approve, edit and reject drafts. Several servers can share a storage. */
import { serve } from '@hono/node-server'
import { OAuthApp } from 'support-workspace-sdk/oauth'
import { openDesk } from './desk.ts'
import { createSite } from './site.ts'

const { SUPPORT_WORKSPACE_URL: baseUrl = 'https://api.supportwire.app', CLIENT_ID: clientId = '', ...env } = process.env
const port = Number(env.PORT ?? 3000)
const publicUrl = (env.PUBLIC_URL ?? `http://127.0.0.1:${port}`).replace(/\/$/, '')
const redirectUri = `${publicUrl}/login/callback`
const app = new OAuthApp({ baseUrl, clientId, clientSecret: env.CLIENT_SECRET ?? '', redirectUri })
const site = createSite(openDesk(), app, publicUrl)
const server = serve({ fetch: site.fetch, port, hostname: '127.0.0.1' }, () => console.log(`Open ${publicUrl}`))
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => server.close())
