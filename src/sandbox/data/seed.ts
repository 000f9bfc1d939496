import { seedConversation } from './seed-conversation.ts'
import type { Member, Role } from './shapes.ts'
import { familyNames, givenNames, organizationNames } from './words.ts'
import { Workspace } from './workspace.ts'

export interface SeedCounts {
  organizations: number
  conversations: number
  messagesPerConversation: number
  contacts: number
  members: number
  tasks: number
  segments: number
}

/** The same counts give the same organizations, ids and texts in every run. */
export function seedWorkspaces(counts: SeedCounts): Workspace[] {
  return Array.from({ length: counts.organizations }, (_, index) => seedWorkspace(index, counts))
}

function seedWorkspace(index: number, counts: SeedCounts): Workspace {
  const workspace = emptyWorkspace(index)
  for (let count = 0; count < counts.members; count += 1) addMember(workspace, roleAt(count))
  for (let count = 0; count < counts.contacts; count += 1) addContact(workspace, count)
  for (let count = 0; count < counts.conversations; count += 1) {
    seedConversation(workspace, startOfSeed + count * 1_800, counts.messagesPerConversation)
  }
  for (let count = 0; count < counts.tasks; count += 1) workspace.tasks.add({ id: workspace.random.id('tsk') })
  for (let count = 0; count < counts.segments; count += 1) workspace.segments.add({ id: workspace.random.id('seg') })
  return workspace
}

// 2026-01-05T09:00:00Z in epoch seconds. Fixed rather than taken from the clock, so that runs can be compared.
const startOfSeed = 1_767_603_600

function emptyWorkspace(index: number): Workspace {
  const repeat = Math.floor(index / organizationNames.length)
  const base = organizationNames[index % organizationNames.length] ?? organizationNames[0]
  const name = repeat === 0 ? base : `${base} ${repeat + 1}`
  const slug = name.toLowerCase().replaceAll(' ', '-')
  return new Workspace(
    {
      id: `org_${slug}`,
      name,
      display_name: name,
      domain: `${slug}.example`,
      created_at: new Date((startOfSeed - 86_400 * (index + 1)) * 1_000).toISOString(),
    },
    { allow_guest_submission: true, enable_ai_assistant: false, bot_configuration: {}, locale: 'en' },
    0x5eed + index,
  )
}

function addMember(workspace: Workspace, role: Role): Member {
  const { random, organization } = workspace
  const given = random.pick(givenNames)
  const name = `${given} ${random.pick(familyNames)}`
  const email = `${plain(given)}.${workspace.members.size + 1}@${organization.domain}`
  return workspace.members.add({
    id: random.id('mem'),
    role,
    archived: false,
    user: workspace.newUser(email, name),
  })
}

// Two admins, so that one of them is not the owner; then everybody else is an agent.
function roleAt(position: number): Role {
  return (['admin', 'moderator', 'agent', 'admin'] as const)[position] ?? 'agent'
}

function addContact(workspace: Workspace, position: number): void {
  const { random } = workspace
  const given = random.pick(givenNames)
  const name = random.chance(0.85) ? `${given} ${random.pick(familyNames)}` : null
  const at = startOfSeed - 86_400 + position * 600
  const source = random.pick(['email', 'widget'])
  const contact = workspace.addContact(`${plain(given)}${position + 1}@customer.example`, name, source, at)
  contact.starred = random.chance(0.1)
  contact.active_at = random.chance(0.7) ? at + 3_600 : null
  if (random.chance(0.3)) contact.attributes = { plan: random.pick(['free', 'team', 'business']) }
  if (random.chance(0.2)) contact.user.instagram_handle = `${plain(given)}_${position + 1}`
}

function plain(name: string): string {
  return name
    .normalize('NFD')
    .replace(/[^a-zA-Z]/g, '')
    .toLowerCase()
}
