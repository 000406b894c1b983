import { ActionIcon, AppShell, Box, Burger, Group, Loader, Text } from '@mantine/core'
import { useDisclosure, useHotkeys } from '@mantine/hooks'
import { Notifications } from '@mantine/notifications'
import { MagnifyingGlassIcon } from '@radix-ui/react-icons'
import { Suspense, useEffect, useState } from 'react'
import { Redirect, Route, Switch, useLocation } from 'wouter'
import { BrandLogo } from '../parts/brand-logo.tsx'
import { RouterLink } from '../parts/router-link.tsx'
import { AdminsOnlyPage } from '../pages/admin/admins-only-page.tsx'
import { AccountMenu } from './account-menu.tsx'
import { BalanceLink } from './balance-link.tsx'
import { brand } from './read-brand.ts'
import { ConnectionStrip, useIsConnectionLost } from './connection-strip.tsx'
import { lazyPart, loadAllWhenIdle } from './load-part.ts'
import { LoadingPage } from './loading-page.tsx'
import { NotFoundPage } from './not-found-page.tsx'
import { PageBoundary } from './page-boundary.tsx'
import { pageRoutes, type Section } from './page-routes.tsx'
import { isUnreached } from './query-client.ts'
import { SectionNav } from './section-nav.tsx'
import { ShellNav } from './shell-nav.tsx'
import classes from './shell.module.css'
import { ErrorNotice } from '../parts/error-notice.tsx'
import { useAccount } from './use-account.ts'

const CommandMenu = lazyPart(async () => (await import('./command-menu.tsx')).CommandMenu)

/** Frame of every page that requires a login: header, navigation, and the page in its own error boundary. */
export function Shell() {
  const [isOpen, { toggle, close }] = useDisclosure()
  const [path] = useLocation()
  const [openings, setOpenings] = useState(0)
  const isLost = useIsConnectionLost()
  const openMenu = () => {
    // Do not open the search over a dialog, which may show a secret for the only time or an unsaved form.
    if (document.querySelector('[role="dialog"]') === null) setOpenings((before) => before + 1)
  }
  // Also works while an input has focus.
  useHotkeys([['mod+K', openMenu]], [])
  useEffect(close, [path, close])
  const isAdmin = useAccount().data?.isAdmin
  useEffect(() => {
    if (isAdmin !== undefined) void loadAllWhenIdle({ isAdmin })
  }, [isAdmin])
  return (
    <AppShell
      header={{ height: isLost ? 84 : 56 }}
      navbar={{ width: 216, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'md', sm: 'xl' }}
    >
      <a href="#main" className={classes.skip}>
        Skip to content
      </a>
      <AppShell.Header className={classes.header}>
        <Group h={55} px="md" gap="sm" wrap="nowrap">
          <Burger
            opened={isOpen}
            onClick={toggle}
            hiddenFrom="sm"
            size="sm"
            aria-label="Navigation"
            aria-expanded={isOpen}
            aria-controls="navigation"
          />
          <RouterLink href="/" className={classes.brand}>
            <BrandLogo alt={brand.logo ? brand.name : ''} height={26} />
            {!brand.logo && (
              <Text component="span" fw={650} size="lg" truncate>
                {brand.name}
              </Text>
            )}
          </RouterLink>
          <Box flex={1} />
          <ActionIcon variant="default" size={30} aria-label="Search" title="Search (Ctrl+K)" onClick={openMenu}>
            <MagnifyingGlassIcon aria-hidden />
          </ActionIcon>
          <BalanceLink />
          <AccountMenu />
        </Group>
        {isLost && <ConnectionStrip />}
      </AppShell.Header>
      <AppShell.Navbar id="navigation" className={classes.navbar} aria-label="Main" p="xs">
        <ShellNav />
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1}>
        <Box className={classes.page}>
          <Pages key={path} />
        </Box>
      </AppShell.Main>
      {openings > 0 && (
        <Suspense>
          <CommandMenu openings={openings} />
        </Suspense>
      )}
      <Notifications position="bottom-right" containerWidth={360} />
    </AppShell>
  )
}

/** Remounted for each path, so that an error on one page does not persist on the next one. */
function Pages() {
  return (
    <Switch>
      <Route path="/settings">
        <Redirect to="/settings/keys" replace />
      </Route>
      <Route path="/admin">
        <Redirect to="/admin/overview" replace />
      </Route>
      {pageRoutes.map(({ path, Page, section }) => (
        <Route key={path} path={path}>
          <InSection section={section}>
            <PageBoundary>
              <Suspense fallback={<LoadingPage />}>
                <Page />
              </Suspense>
            </PageBoundary>
          </InSection>
        </Route>
      ))}
      <Route component={NotFoundPage} />
    </Switch>
  )
}

function InSection({ section, children }: { section: Section | undefined; children: React.ReactNode }) {
  const account = useAccount()
  if (section === undefined) return children
  if (section === 'admin' && !account.data?.isAdmin) {
    if (account.isError && !isUnreached(account.error))
      return <ErrorNotice error={account.error} onRetry={() => void account.refetch()} />
    return account.data === undefined ? <Loader size="sm" aria-label="Loading page" /> : <AdminsOnlyPage />
  }
  return (
    <>
      <SectionNav section={section} />
      {children}
    </>
  )
}
