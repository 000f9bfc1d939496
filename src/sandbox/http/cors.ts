/**
 * Headers that let a page of this origin read the answer. The service's documents do not speak of CORS:
 * the sandbox has it so that browser code can be tried at all.
 */
export function corsHeaders(allowed: boolean | readonly string[], origin: string | null): Record<string, string> {
  if (origin === null || allowed === false) return {}
  if (allowed !== true && !allowed.includes(origin)) return { vary: 'Origin' }
  return {
    'access-control-allow-origin': allowed === true ? '*' : origin,
    'access-control-expose-headers': 'retry-after, x-request-id',
    ...(allowed !== true && { vary: 'Origin' }),
  }
}

/** The answer to a preflight. A page may send these two headers and the four methods that the service takes. */
export function preflightAnswer(): Response {
  return new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
      'access-control-allow-headers': 'authorization, content-type',
    },
  })
}

export function isPreflight(method: string, headers: Headers): boolean {
  return method === 'OPTIONS' && headers.has('origin') && headers.has('access-control-request-method')
}
