'use client'

import { useEffect, useState } from 'react'
import { SupportWorkspace } from 'support-workspace-sdk'
import { PublicOAuthApp } from 'support-workspace-sdk/oauth'

/** Runs the SDK in a client component, with the settings from the fragment of the URL, and shows the result. */
export default function Page() {
  const [result, setResult] = useState()
  useEffect(() => {
    runSdk(JSON.parse(decodeURIComponent(location.hash.slice(1)))).then(setResult, (error) => setResult(String(error)))
  }, [])
  return <output>{result}</output>
}

async function runSdk({ baseUrl, selfToken, redirectUri }) {
  const workspace = new SupportWorkspace({ baseUrl, accessToken: selfToken })
  const { actor } = await workspace.me()
  const ids = new Set()
  for await (const { id } of workspace.conversations.list({ limit: 50 })) ids.add(id)
  const app = new PublicOAuthApp({ baseUrl, clientId: 'app_sandbox', redirectUri })
  const { url } = await app.startLogin({ scope: ['conversations:read'] })
  const isLogin = new URL(url).searchParams.get('code_challenge_method') === 'S256'
  return `actor ${actor}, ${ids.size} conversations, ${isLogin ? 'a login with PKCE' : 'no login'}`
}
