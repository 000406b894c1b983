import '@mantine/spotlight/styles.layer.css'
import { VisuallyHidden } from '@mantine/core'
import { Spotlight, spotlight } from '@mantine/spotlight'
import {
  ArrowRightIcon,
  LightningBoltIcon,
  LockClosedIcon,
  MagnifyingGlassIcon,
  TargetIcon,
} from '@radix-ui/react-icons'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState, type ReactNode } from 'react'
import { useLocation } from 'wouter'
import { notifyError } from '../parts/notify.tsx'
import { client } from './api-client.ts'
import { findPage, isFindable } from './find-page.ts'
import { sections } from './section-nav.tsx'
import { adminItem, navItems } from './shell-nav.tsx'
import { useAccount } from './use-account.ts'

type Command = { label: string; description?: string; icon: ReactNode; run: () => void }

/** Search dialog for pages, agents, tasks and ids. Opens each time `openings` increases. */
export function CommandMenu({ openings }: { openings: number }) {
  const [query, setQuery] = useState('')
  const commands = useCommands(query.trim())
  useEffect(() => spotlight.open(), [openings])
  return (
    <Spotlight.Root
      query={query}
      onQueryChange={setQuery}
      shortcut={null}
      scrollable
      transitionProps={{ duration: 0 }}
      maxHeight={420}
      // The default blur is slow without a graphics card.
      overlayProps={{ blur: 0 }}
      title={<VisuallyHidden>Search</VisuallyHidden>}
      styles={{ header: { position: 'absolute', minHeight: 0, padding: 0 } }}
    >
      <Spotlight.Search
        aria-label="Search pages, agents, tasks and IDs"
        placeholder="Search pages, agents and tasks, or paste an ID"
        leftSection={<MagnifyingGlassIcon aria-hidden />}
      />
      <Spotlight.ActionsList>
        {commands.map(({ description, icon, label, run }, index) => (
          <Spotlight.Action
            // Spotlight marks the selected button in the DOM. A replaced button would lose the mark, so use the index
            // as the key.
            // oxlint-disable-next-line react/no-array-index-key
            key={index}
            label={label}
            {...(description !== undefined && { description })}
            leftSection={icon}
            onClick={run}
          />
        ))}
      </Spotlight.ActionsList>
    </Spotlight.Root>
  )
}

function useCommands(query: string): Command[] {
  const [, navigate] = useLocation()
  const account = useAccount().data
  const agents = useQuery({
    queryKey: ['agents', { limit: 100 }],
    queryFn: ({ signal }) => client.agents.list({ limit: 100 }, { signal }),
    staleTime: 60_000,
  })
  const isAdmin = account?.isAdmin === true
  const page = (label: string, href: string, area?: string): Command => ({
    label,
    ...(area !== undefined && { description: area }),
    icon: <ArrowRightIcon aria-hidden />,
    run: () => navigate(href),
  })
  const inSection = (section: 'settings' | 'admin') =>
    sections[section].pages
      .filter(({ href }) => Boolean(account?.payments) || href !== '/admin/payments')
      .map(({ href, label }) => page(label, href, sections[section].label))
  const known = [
    ...navItems.filter(({ area, href }) => area === href).map(({ href, label }) => page(label, href)),
    ...(agents.data?.agents ?? []).map(({ id, inPlan, name }) => ({
      ...page(name, `/agents/${encodeURIComponent(id)}`, inPlan ? 'Agent' : 'Agent (not in your plan)'),
      icon: inPlan ? <LightningBoltIcon aria-hidden /> : <LockClosedIcon aria-hidden />,
    })),
    ...inSection('settings'),
    ...(isAdmin ? inSection(adminItem.section) : []),
  ]
  if (query === '') return known
  const word = query.toLowerCase()
  const found = known.filter(({ description = '', label }) => `${label} ${description}`.toLowerCase().includes(word))
  if (account && isFindable(query, account)) {
    const run = () => {
      findPage(query, account).then(navigate, (error) => notifyError(`Could not find ${query}`, error))
    }
    return [{ label: `Open ${query}`, icon: <TargetIcon aria-hidden />, run }]
  }
  const search = (label: string, path: string): Command => ({
    label: `${label} “${query}”`,
    icon: <MagnifyingGlassIcon aria-hidden />,
    run: () => navigate(`${path}?${new URLSearchParams({ search: query })}`),
  })
  const searches = [search('Search tasks for', '/tasks')]
  if (isAdmin) searches.push(search('Search users for', '/admin/users'))
  return [...found, ...searches]
}
