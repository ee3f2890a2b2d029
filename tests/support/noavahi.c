// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into SoapySDRServer, which exits without an avahi-daemon: a discovery service that always succeeds and
// announces nothing.

static int nothing;

void* avahi_client_new(const void* poll, int flags, void* callback, void* user, int* error) {
  (void)poll, (void)flags, (void)callback, (void)user;
  if (error) *error = 0;
  return &nothing;
}
void avahi_client_free(void* client) {
  (void)client;
}
int avahi_client_get_state(void* client) {
  (void)client;
  return 2;  // AVAHI_CLIENT_S_RUNNING
}
int avahi_client_errno(void* client) {
  (void)client;
  return 0;
}
const char* avahi_client_get_version_string(void* client) {
  (void)client;
  return "none";
}
const char* avahi_client_get_host_name(void* client) {
  (void)client;
  return "localhost";
}
const char* avahi_client_get_domain_name(void* client) {
  (void)client;
  return "local";
}
const char* avahi_client_get_host_name_fqdn(void* client) {
  (void)client;
  return "localhost.local";
}
void* avahi_entry_group_new(void* client, void* callback, void* user) {
  (void)client, (void)callback, (void)user;
  return &nothing;
}
int avahi_entry_group_add_service_strlst(void) {
  return 0;
}
int avahi_entry_group_commit(void* group) {
  (void)group;
  return 0;
}
int avahi_entry_group_free(void* group) {
  (void)group;
  return 0;
}
