import type { Group } from './shapes.ts'

/** Texts for sample data. Domains are the ones that RFC 2606 and RFC 6761 reserve for examples. */

export const givenNames = [
  'Ada',
  'Björn',
  'Chidi',
  'Daria',
  'Elif',
  'Farah',
  'Goran',
  'Hana',
  'Inês',
  'Jonas',
  'Kwame',
  'Lucía',
  'Mei',
  'Noor',
  'Oisín',
  'Priya',
  'Quentin',
  'Rosa',
  'Søren',
  'Tomoko',
] as const

export const familyNames = [
  'Abara',
  'Bianchi',
  'Castro',
  'Dvořák',
  'Eriksen',
  'Fofana',
  'Grant',
  'Haddad',
  'Ito',
  'Jansen',
  'Kaya',
  'Lindqvist',
  'Mbeki',
  'Novak',
  'O’Brien',
  'Petrov',
  'Rao',
  'Silva',
  'Tanaka',
  'Weiss',
] as const

export const questions = [
  'My invoice shows the wrong address.',
  'I cannot sign in since this morning.',
  'How do I export my data?',
  'The app is slow on my phone.',
  'Can I change my plan in the middle of the month?',
  'The confirmation email never arrived.',
  'Your widget covers our menu on small screens.',
  'Do you offer a discount for schools?',
  'I was charged twice for the same order.',
  'Is there a way to merge two accounts?',
] as const

export const replies = [
  'Thanks for writing, I am looking into it.',
  'Could you tell me which browser you use?',
  'This is fixed now. Please try again.',
  'I have passed this on to our billing team.',
  'You will find it under Settings, then Account.',
] as const

export const followUps = [
  'It works now, thank you!',
  'I still see the same page.',
  'Here is a screenshot of what happens.',
  'That was quick, thanks.',
  'Is there any news?',
] as const

export const noteTexts = [
  'Customer since the beta, be kind.',
  'Same cause as last week’s report.',
  'Waiting for a reply from billing.',
] as const

export const groups: readonly [Group, ...Group[]] = [
  { id: 'grp_billing', name: 'Billing', slug: 'billing', color: '#2f6fed' },
  { id: 'grp_product', name: 'Product', slug: 'product', color: '#1b998b' },
  { id: 'grp_access', name: 'Access', slug: 'access', color: '#c8553d' },
]

export const organizationNames = ['Juniper Supplies', 'Harbour Books', 'Meadow Cycles', 'Lantern Studio'] as const
