import { useLayoutEffect, useRef } from 'react'
import { useLocation } from 'wouter'
import { useAccount } from './use-account.ts'
import { RouterLink } from '../parts/router-link.tsx'
import type { Section } from './page-routes.tsx'
import classes from './shell.module.css'

export const sections: Record<Section, { label: string; pages: readonly { href: string; label: string }[] }> = {
  settings: {
    label: 'Settings',
    pages: [
      { href: '/settings/keys', label: 'API keys' },
      { href: '/settings/connectors', label: 'Connectors' },
      { href: '/settings/webhooks', label: 'Webhooks' },
      { href: '/settings/password', label: 'Password' },
      { href: '/settings/logins', label: 'Logins' },
    ],
  },
  admin: {
    label: 'Admin',
    pages: [
      { href: '/admin/overview', label: 'Overview' },
      { href: '/admin/users', label: 'Users' },
      { href: '/admin/plans', label: 'Plans' },
      { href: '/admin/economics', label: 'Economics' },
      { href: '/admin/payments', label: 'Payments' },
      { href: '/admin/invitations', label: 'Invitations' },
      { href: '/admin/platform-keys', label: 'Platform keys' },
      { href: '/admin/agents', label: 'Agents' },
      { href: '/admin/audit', label: 'Audit log' },
      { href: '/admin/mail', label: 'Mail' },
      { href: '/admin/system', label: 'System' },
    ],
  },
}

export function SectionNav({ section }: { section: Section }) {
  const [path] = useLocation()
  const takesPayments = Boolean(useAccount().data?.payments)
  const { label, pages: all } = sections[section]
  const pages = all.filter(({ href }) => takesPayments || href !== '/admin/payments')
  const nav = useRef<HTMLElement>(null)
  // On phones, scroll the current page's link into view.
  useLayoutEffect(() => {
    const link = nav.current?.querySelector<HTMLElement>('[aria-current]')
    if (!nav.current || !link) return
    const { clientWidth, offsetLeft } = nav.current
    nav.current.scrollLeft = link.offsetLeft - offsetLeft - (clientWidth - link.offsetWidth) / 2
  }, [path])
  return (
    <nav aria-label={label} className={`scroll-fade ${classes.sections}`} ref={nav}>
      {pages.map((page) => {
        const isHere = path === page.href || path.startsWith(`${page.href}/`)
        return (
          <RouterLink
            key={page.href}
            href={page.href}
            className={classes.section}
            aria-current={isHere ? 'page' : undefined}
          >
            {page.label}
          </RouterLink>
        )
      })}
    </nav>
  )
}
