import type { SandboxFetch } from './http/in-process.ts'

/** msw request handlers that answer everything below `baseUrl` from the sandbox. */
export async function createHandlers<Handler>(answer: SandboxFetch, baseUrl: string): Promise<Handler[]> {
  const { http } = await loadMsw()
  const handler = http.all(`${baseUrl.replace(/\/+$/, '')}/*`, async ({ request }) => {
    try {
      return await answer(request.clone())
    } catch {
      // msw turns what a handler throws into a status 500; this is how it is told of a connection that broke.
      return Response.error()
    }
  })
  return [handler as Handler]
}

async function loadMsw(): Promise<typeof import('msw')> {
  try {
    return await import('msw')
  } catch (cause) {
    throw new Error(
      '`sandbox.handlers()` needs the package msw, which is not installed: `npm install --save-dev msw`.',
      {
        cause,
      },
    )
  }
}
