import { NavLink, Stack } from '@mantine/core'
import {
  BarChartIcon,
  CardStackIcon,
  ChatBubbleIcon,
  DashboardIcon,
  GearIcon,
  LightningBoltIcon,
  ListBulletIcon,
  LockClosedIcon,
} from '@radix-ui/react-icons'
import { useLocation } from 'wouter'
import { RouterLink } from '../parts/router-link.tsx'
import { useAccount } from './use-account.ts'

export const navItems = [
  { href: '/', area: '/', label: 'Overview', Icon: DashboardIcon },
  { href: '/agents', area: '/agents', label: 'Agents', Icon: LightningBoltIcon },
  { href: '/tasks', area: '/tasks', label: 'Tasks', Icon: ListBulletIcon },
  { href: '/chat', area: '/chat', label: 'Chat', Icon: ChatBubbleIcon },
  { href: '/usage', area: '/usage', label: 'Usage', Icon: BarChartIcon },
  { href: '/billing', area: '/billing', label: 'Billing', Icon: CardStackIcon },
  { href: '/settings/keys', area: '/settings', label: 'Settings', Icon: GearIcon },
]
export const adminItem = {
  section: 'admin' as const,
  href: '/admin/overview',
  area: '/admin',
  label: 'Admin',
  Icon: LockClosedIcon,
}

export function ShellNav() {
  const [path] = useLocation()
  const isAdmin = useAccount().data?.isAdmin === true
  return (
    <Stack gap={2}>
      {[...navItems, ...(isAdmin ? [adminItem] : [])].map(({ href, area, label, Icon }) => {
        const isHere = path === area || (area !== '/' && path.startsWith(`${area}/`))
        return (
          <NavLink
            key={href}
            component={RouterLink}
            href={href}
            label={label}
            active={isHere}
            aria-current={isHere ? 'page' : undefined}
            leftSection={<Icon aria-hidden />}
            bdrs="md"
            py={7}
          />
        )
      })}
    </Stack>
  )
}
