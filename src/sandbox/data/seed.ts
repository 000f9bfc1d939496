import { OrganizationData } from './organization-data.ts'
import type { Conversation, Group, Message, Role, User } from './shapes.ts'

type Counted = 'conversations' | 'messagesPerConversation' | 'contacts' | 'members' | 'tasks' | 'segments'
type SeedCounts = Readonly<Record<'organizations' | Counted, number>>

/** Returns organizations with sample data. The same counts and seed produce the same ids and texts in every run. */
export function seedOrganizations(counts: SeedCounts, seed: number): OrganizationData[] {
  return Array.from({ length: counts.organizations }, (_, index) => seedOrganization(index, counts, seed))
}

function seedOrganization(index: number, counts: SeedCounts, seed: number): OrganizationData {
  const data = emptyOrganization(index, seed)
  for (let count = 0; count < counts.members; count += 1) addMember(data, firstRoles[count] ?? 'agent')
  for (let count = 0; count < counts.contacts; count += 1) addContact(data, count)
  const members = data.members.all().map(({ user }) => user) as [User, ...User[]]
  const contacts = data.contacts.all().map(({ user }) => user)
  for (let count = 0; count < counts.conversations; count += 1) {
    seedConversation(data, { members, contacts }, startOfSeed + count * 1_800, counts.messagesPerConversation)
  }
  for (let count = 0; count < counts.tasks; count += 1) data.tasks.add({ id: data.random.id('tsk') })
  for (let count = 0; count < counts.segments; count += 1) data.segments.add({ id: data.random.id('seg') })
  return data
}

// 2026-01-05T09:00:00Z in epoch seconds. A constant, so that every run produces the same data.
const startOfSeed = 1_767_603_600

function emptyOrganization(index: number, seed: number): OrganizationData {
  const repeat = Math.floor(index / organizationNames.length)
  const base = organizationNames[index % organizationNames.length] ?? organizationNames[0]
  const name = repeat === 0 ? base : `${base} ${repeat + 1}`
  const slug = name.toLowerCase().replaceAll(' ', '-')
  return new OrganizationData(
    {
      id: `org_${slug}`,
      name,
      display_name: name,
      domain: `${slug}.example`,
      created_at: new Date((startOfSeed - 86_400 * (index + 1)) * 1_000).toISOString(),
    },
    { allow_guest_submission: true, enable_ai_assistant: false, bot_configuration: {}, locale: 'en' },
    seed + index,
  )
}

// Two admins, because only the first one is the owner.
const firstRoles: readonly Role[] = ['admin', 'moderator', 'agent', 'admin']

function addMember(data: OrganizationData, role: Role): void {
  const { random, organization } = data
  const given = random.pick(givenNames)
  const name = `${given} ${random.pick(familyNames)}`
  const email = `${toEmailName(given)}.${data.members.size + 1}@${organization.domain}`
  data.members.add({ id: random.id('mem'), role, archived: false, user: data.newUser(email, name) })
}

function addContact(data: OrganizationData, position: number): void {
  const { random } = data
  const given = random.pick(givenNames)
  const name = random.chance(0.85) ? `${given} ${random.pick(familyNames)}` : null
  const at = startOfSeed - 86_400 + position * 600
  const source = random.pick(['email', 'widget'])
  const contact = data.addContact(`${toEmailName(given)}${position + 1}@customer.example`, name, source, at)
  contact.starred = random.chance(0.1)
  contact.active_at = random.chance(0.7) ? at + 3_600 : null
  if (random.chance(0.3)) contact.attributes = { plan: random.pick(['free', 'team', 'business']) }
  if (random.chance(0.2)) contact.user.instagram_handle = `${toEmailName(given)}_${position + 1}`
}

function toEmailName(name: string): string {
  return name
    .normalize('NFD')
    .replace(/[^a-zA-Z]/g, '')
    .toLowerCase()
}

/** Collected once, because reading the lists for each conversation would take quadratic time. */
interface People {
  members: readonly [User, ...User[]]
  contacts: readonly User[]
}

/** Adds one conversation with its messages and, in some cases, a note. `at` is in epoch seconds. */
function seedConversation(
  data: OrganizationData,
  { members, contacts }: People,
  at: number,
  messageCount: number,
): void {
  const { random } = data
  const customer = contacts[random.between(0, contacts.length - 1)] ?? data.newUser('someone@customer.example', null)
  const conversation = data.newConversation(customer, random.pick(questions), at)
  addDetails(data, conversation, members, at)
  data.conversations.add(conversation)

  const messages = data.messages(conversation.id)
  let previous: Message | undefined
  for (let count = 0; count < messageCount; count += 1) {
    const fromCustomer = count % 2 === 0
    const text = count === 0 ? conversation.initial_message : random.pick(fromCustomer ? followUps : replies)
    const author = fromCustomer ? conversation.user : random.pick(members)
    const source = fromCustomer ? 'email' : 'dashboard'
    const message = data.newMessage(conversation.id, author, `<p>${text}</p>`, source, at + count * 60)
    if (count > 0) addMessageDetails(data, message, previous)
    previous = messages.add(message)
  }
  data.refreshLastMessage(conversation)

  if (random.chance(0.3)) {
    const author = random.pick(members)
    const note = data.newMessage(conversation.id, author, `<p>${random.pick(noteTexts)}</p>`, 'dashboard', at + 30)
    data.notes(conversation.id).add(note)
  }
}

function addDetails(data: OrganizationData, conversation: Conversation, members: People['members'], at: number): void {
  const { random } = data
  // The documents do not list the statuses; informal notes mention these (docs/service.md#conversations).
  conversation.status = random.pick(['open', 'open', 'open', 'waiting', 'closed', 'resolved'])
  conversation.pinned = random.chance(0.05)
  conversation.is_spam = random.chance(0.03)
  conversation.unread_count = random.chance(0.4) ? random.between(1, 4) : 0
  conversation.guest_submission = random.chance(0.2)
  if (random.chance(0.2)) conversation.summary = 'The customer asks for help with an account.'
  if (random.chance(0.5)) {
    const group = { ...random.pick(groups) }
    conversation.group = group
    conversation.group_id = group.id
  }
  const assignee = random.pick(members)
  if (random.chance(0.5)) {
    const assignment = data.assign(conversation, assignee, at + 90)
    assignment.assignor_id = random.chance(0.5) ? assignee.id : null
  }
}

function addMessageDetails({ random }: OrganizationData, message: Message, previous: Message | undefined): void {
  if (previous !== undefined && random.chance(0.2)) {
    message.reply_to = { id: previous.id, body_html: previous.body_html, user: previous.user }
  }
  if (random.chance(0.1)) {
    message.attachments.push({
      id: random.id('att'),
      presigned_url: `https://files.example/${message.id}/screenshot.png`,
      original_filename: 'screenshot.png',
      extension: 'png',
      file_size: random.between(10_000, 900_000),
      resource_type: 'message',
      resource_id: message.id,
    })
  }
}

// Texts for sample data. Domains are the ones that RFC 2606 and RFC 6761 reserve for examples.

const givenNames = words(
  'Ada Björn Chidi Daria Elif Farah Goran Hana Inês Jonas Kwame Lucía Mei Noor Oisín Priya Quentin Rosa Søren Tomoko',
)

const familyNames = words(
  'Abara Bianchi Castro Dvořák Eriksen Fofana Grant Haddad Ito Jansen Kaya Lindqvist Mbeki Novak O’Brien Petrov Rao Silva Tanaka Weiss',
)

const questions = [
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

const replies = [
  'Thanks for writing, I am looking into it.',
  'Could you tell me which browser you use?',
  'This is fixed now. Please try again.',
  'I have passed this on to our billing team.',
  'You will find it under Settings, then Account.',
] as const

const followUps = [
  'It works now, thank you!',
  'I still see the same page.',
  'Here is a screenshot of what happens.',
  'That was quick, thanks.',
  'Is there any news?',
] as const

const noteTexts = [
  'Customer since the beta, be kind.',
  'Same cause as last week’s report.',
  'Waiting for a reply from billing.',
] as const

const groups: readonly [Group, ...Group[]] = [
  { id: 'grp_billing', name: 'Billing', slug: 'billing', color: '#2f6fed' },
  { id: 'grp_product', name: 'Product', slug: 'product', color: '#1b998b' },
  { id: 'grp_access', name: 'Access', slug: 'access', color: '#c8553d' },
]

const organizationNames = ['Juniper Supplies', 'Harbour Books', 'Meadow Cycles', 'Lantern Studio'] as const

function words(text: string): [string, ...string[]] {
  return text.split(' ') as [string, ...string[]]
}
