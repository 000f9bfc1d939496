import type { Page } from 'playwright-core'

/** Submits the service's consent page, as the person with this role. */
export async function consent(page: Page, decision: 'Allow' | 'Deny', role = 'admin'): Promise<void> {
  await page.getByLabel('Signed in as').selectOption(role)
  await page.getByRole('button', { name: decision }).click()
}
