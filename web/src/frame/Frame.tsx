/** Around every page of somebody who is signed in: where one is, where one can go, search, and oneself. */
import { useQuery } from "@tanstack/react-query";
import { Suspense, useCallback, useEffect, useRef, useState } from "react";
import { Link, NavLink, Outlet, ScrollRestoration, useLocation, useNavigate, useNavigation } from "react-router";

import { meQuery } from "@/api/me";
import { ConfirmDialog, Icon, IconButton, KeyboardHint, Menu, SkeletonLines, toastProblem } from "@/components";
import mark from "@/mark.svg";
import { paths } from "@/paths";
import { kept } from "@/session/kept";
import { withNext } from "@/session/next";
import { session } from "@/session/session";
import { usePerson, useSession } from "@/session/useSession";
import { Announcer } from "./Announcer";
import styles from "./Frame.module.css";
import { companyLinks, type NavEntry, projectLinks } from "./nav";
import { Palette, useSearchKeys } from "./Palette";
import { ScopeProvider, usePlace } from "./scope";
import { Switcher } from "./Switcher";
import { choose, type Theme, useTheme } from "./theme";

export function Component() {
  // Anew for another person: what a page holds is of whom it was opened for.
  return (
    <ScopeProvider key={usePerson()}>
      <Frame />
    </ScopeProvider>
  );
}

function Frame() {
  const [searching, setSearching] = useState(false);
  const open = useCallback(() => setSearching(true), []);
  useSearchKeys(open);
  useLeaveWhenSignedOut();
  return (
    <div className={styles["frame"]}>
      <Underway />
      <a href="#content" className={styles["skip"]}>Skip to the content</a>
      <Side />
      <header className={styles["top"]}>
        <Drawer />
        <button type="button" className={styles["search"]} onClick={open} aria-keyshortcuts="/ Control+K">
          <Icon name="search" /> <span>Search</span> <KeyboardHint keys="/" />
        </button>
        <span className={styles["grow"]} />
        <UserMenu />
      </header>
      <main id="content" tabIndex={-1} className={styles["main"]}>
        <Suspense fallback={<SkeletonLines />}>
          <Outlet />
        </Suspense>
      </main>
      {searching && <Palette onClose={() => setSearching(false)} />}
      <Announcer />
      <ScrollRestoration />
    </div>
  );
}

/** A page that takes a moment to come: one sees that it does. */
function Underway() {
  return useNavigation().state === "idle" ? null : <div className={styles["underway"]} role="progressbar" aria-label="Loading the page" />;
}

/** Signed out here, in another tab or by the server: to the sign-in page, which leads back. */
function useLeaveWhenSignedOut(): void {
  const state = useSession();
  const { pathname, search } = useLocation();
  const navigate = useNavigate();
  const here = useRef("");
  here.current = pathname + search;
  useEffect(() => {
    if (state === "out") void navigate(withNext(paths.signIn(), here.current), { replace: true });
  }, [state, navigate]);
}

function Side() {
  const { company, project } = usePlace();
  return (
    <aside className={styles["side"]} aria-label="Where you are">
      <Link to={paths.home()} className={styles["brand"]}>
        <img src={mark} alt="" width={24} height={24} /> Penstock
      </Link>
      <Switcher />
      <nav aria-label="Main">
        {project && <Links title="Project" entries={projectLinks(project.id)} />}
        {company && <Links title={company.parent_id ? "Organization" : "Company"} entries={companyLinks(company.id)} />}
        <Links title="Everywhere" entries={[
          { to: paths.home(), label: "Home", icon: "home", end: true },
          { to: paths.system(), label: "All workflows", icon: "chart" },
          { to: paths.executions(), label: "All executions", icon: "play", end: true },
        ]} />
      </nav>
      <div className={styles["bottom"]}>
        <a className={styles["link"]} href="/docs"><Icon name="list" /> API documentation</a>
      </div>
    </aside>
  );
}

function Links({ title, entries }: { title: string; entries: NavEntry[] }) {
  return (
    <div className={styles["group"]}>
      <h2>{title}</h2>
      <ul>
        {entries.map((entry) => (
          <li key={entry.to}>
            <NavLink to={entry.to} end={entry.end ?? false} className={styles["link"]!}>
              <Icon name={entry.icon} /> {entry.label}
            </NavLink>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** On a phone, the side is behind a button. */
function Drawer() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [open, setOpen] = useState(false);
  const { pathname } = useLocation();
  useEffect(() => setOpen(false), [pathname]);
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  return (
    <span className={styles["burger"]}>
      <IconButton label="Menu" icon="menu" aria-expanded={open} onClick={() => setOpen(true)} />
      <dialog ref={dialog} className={styles["drawer"]} aria-label="Menu" onClose={() => setOpen(false)} onClick={(event) => event.target === dialog.current && setOpen(false)}>
        {open && <Side />}
      </dialog>
    </span>
  );
}

const THEMES: Record<Theme, string> = { system: "Theme: system", light: "Theme: light", dark: "Theme: dark" };
const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };

function UserMenu() {
  const me = useQuery(meQuery);
  const theme = useTheme();
  const name = me.data?.display_name || me.data?.email || "";
  const [asking, setAsking] = useState(false);
  const signOut = async () => {
    await session.signOut();
    kept.forgetAll();
  };
  return (
    <>
      <Menu
        align="end"
        trigger={(given) => (
          <button type="button" className={styles["avatar"]} aria-label={`You: ${name || "loading"}`} title={name} {...given}>
            {name ? name.charAt(0).toUpperCase() : <Icon name="person" />}
          </button>
        )}
        entries={[
          { kind: "note", label: me.data?.email ?? "" },
          { label: "Profile", icon: "person", to: paths.me() },
          { label: "Sessions", icon: "shield", to: paths.mySessions() },
          { label: THEMES[theme], icon: theme === "dark" ? "moon" : "sun", onSelect: () => choose(NEXT[theme]) },
          { kind: "rule" },
          { label: "Sign out", icon: "out", onSelect: () => (kept.empty ? void signOut().catch(toastProblem) : setAsking(true)) },
        ]}
      />
      <ConfirmDialog open={asking} onClose={() => setAsking(false)} onConfirm={signOut} title="Sign out without saving?" action="Sign out">
        <p>What you wrote is not saved, and would be lost.</p>
      </ConfirmDialog>
    </>
  );
}
