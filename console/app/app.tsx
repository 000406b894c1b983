import { MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { Suspense } from 'react'
import { Route, Router, Switch } from 'wouter'
import { basePath } from './service-url.ts'
import { lazyPart, useIsUnreached } from './load-part.ts'
import { LoadingPage } from './loading-page.tsx'
import { PageBoundary } from './page-boundary.tsx'
import { queryClient } from './query-client.ts'
import { resolveVariables, theme } from './theme.ts'

const LoginPage = lazyPart(async () => (await import('../pages/login/login-page.tsx')).LoginPage)
const ForgotPasswordPage = lazyPart(
  async () => (await import('../pages/login/forgot-password-page.tsx')).ForgotPasswordPage,
)
const SignUpPage = lazyPart(async () => (await import('../pages/login/sign-up-page.tsx')).SignUpPage)
const InvitationPage = lazyPart(async () => (await import('../pages/login/invitation-page.tsx')).InvitationPage)
const Shell = lazyPart(async () => (await import('./shell.tsx')).Shell)

/** The login pages have no frame. All other pages are inside the shell. */
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
          <Suspense fallback={<Starting />}>
            <Router base={basePath}>
              <Switch>
                <Route path="/login" component={LoginPage} />
                <Route path="/invitation" component={InvitationPage} />
                <Route path="/forgot-password" component={ForgotPasswordPage} />
                <Route path="/sign-up" component={SignUpPage} />
                <Route component={Shell} />
              </Switch>
            </Router>
          </Suspense>
        </PageBoundary>
      </QueryClientProvider>
    </MantineProvider>
  )
}

/** Blank at first, because loading is usually quick. Shows the loading page if the service is unreachable. */
function Starting() {
  return useIsUnreached() ? <LoadingPage /> : null
}
