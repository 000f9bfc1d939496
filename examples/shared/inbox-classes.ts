type Author = { readonly id?: string | null | undefined } | null | undefined

/** Returns the CSS class of a status. The service documents no statuses, so unknown ones get a neutral color. */
export function statusClass(status: string | null | undefined): string {
  return `status-${(status ?? '').toLowerCase().replace(/[^a-z]+/g, '-')}`
}

/** Returns the CSS class of a message: `mine`, `colleague`, or none if the customer wrote it or is unknown. */
export function authorClass(author: Author, me: Author, customer: Author): '' | 'mine' | 'colleague' {
  if (author?.id == null) return ''
  if (author.id === me?.id) return 'mine'
  return customer?.id == null || author.id === customer.id ? '' : 'colleague'
}
