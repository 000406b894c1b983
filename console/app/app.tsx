import { MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { Route, Switch } from 'wouter'
import { PageBoundary } from './page-boundary.tsx'
import { queryClient } from './query-client.ts'
import { resolveVariables, theme } from './theme.ts'

const LoginPage = lazy(async () => ({ default: (await import('../pages/login/login-page.tsx')).LoginPage }))
const InvitationPage = lazy(async () => ({
  default: (await import('../pages/login/invitation-page.tsx')).InvitationPage,
}))
const Shell = lazy(async () => ({ default: (await import('./shell.tsx')).Shell }))

/** The whole console: the pages of the login by themselves, every other one in the shell. */
export function App({ nonce }: { nonce: string }) {
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={resolveVariables}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
    >
      <QueryClientProvider client={queryClient}>
        <PageBoundary>
          <Suspense fallback={null}>
            <Switch>
              <Route path="/login" component={LoginPage} />
              <Route path="/invitation" component={InvitationPage} />
              <Route component={Shell} />
            </Switch>
          </Suspense>
        </PageBoundary>
      </QueryClientProvider>
    </MantineProvider>
  )
}
