"""Which files hold secrets by their names: two lists of names, as a person would sort them."""

import re
import time

import pytest

from ctxd.indexer.files.secret_names import is_secret

SECRET = """
.env                            app/.env                        .ENV                            .env.local
.env.production                 .env.test                       .env-prod                       .env_staging
prod.env                        config/docker.env               .envrc                          sub/.envrc
.env~                           .env.bak                        .env.old                        .env.orig
.env.save                       .env.2024-05-01                 .env.local.bak                  .env.swp
..env.swp                       .env.keys                       .dev.vars                       .dev.vars.production
env.local                       prod.env.20240501               .env (1)                        .env.bak.20240101.old~

terraform.tfstate               terraform.tfstate.backup        infra/prod.tfstate
.terraform/terraform.tfstate
prod.tfvars                     terraform.tfvars                x.auto.tfvars.json
terraform.tfstate.1700000000.backup
vars.pkrvars.hcl                .terraformrc                    credentials.tfrc.json           terraform.rc

id_rsa                          .ssh/id_rsa                     id_ed25519                      id_ecdsa_sk
id_rsa.bak                      id_rsa_old                      id_rsa.old                      id_rsa_work
id_rsa-20240101                 id_dsa~                         .id_rsa                         .id_rsa.swp
#id_rsa#                        .#id_rsa                        deploy_rsa                      keys/github_ed25519
server-ecdsa                    deploy_key                      deploy-key                      ssh_host_ed25519_key
.ssh/config                     .ssh/work                       home/.ssh/personal              private_key
privatekey                      keys/private-key                ssh_key                         id_ed25519.2023-01-02

server.key                      SERVER.KEY                      example.com.key                 ssl/tls.key.bak
config/master.key               AuthKey_ABC123.p8               cert.p12                        ios/dist.pfx
release.jks                     app.keystore                    putty.ppk                       vault.kdbx
old.kdb                         store.jceks                     http.keytab                     android.bks
login.keychain                  safe.psafe3                     StrongName.snk                  platform.pk8
user.ovpn                       wg0.conf                        default.rdp                     vpn.tblk
server.pem                      key.pem                         private.pem                     privkey.pem
keycert.pem                     cert-key.pem                    ca-key.pem                      ca.private.pem
.chef/user.pem                  private.asc                     secret-key.gpg                  private_key.der
.gnupg/pubring.kbx              .gnupg/private-keys-v1.d/A.key  .password-store/mail.gpg        secring.gpg
otr.private_key                 UTC--2020-01-01T00-00-00Z--ab   wallet.dat                      mnemonic.txt

.aws/credentials                .aws/config                     aws/credentials                 .AWS/Credentials
.azure/accessTokens.json        .oci/config                     .config/gcloud/legacy/x         doctl/config.yaml
.boto                           .s3cfg                          rclone.conf                     kaggle.json
rootkey.csv                     user_accessKeys.csv             service-account.json
service-account-prod.json
service_account.json            serviceAccountKey.json          my-service-account-key.json     serviceAccount.prod.json
app-firebase-adminsdk-x1.json   google-services.json            GoogleService-Info.plist        gcp-key.json
client_secret.json              client_secrets.json             gcloud-auth.json                prod-keyfile.json
client_secret_1-a.apps.googleusercontent.com.json               application_default_credentials.json
.huggingface/token              .databrickscfg                  .edgerc                         .snowsql/config

.kube/config                    kubeconfig                      kubeconfig.yaml                 kubeconfig-prod
prod.kubeconfig                 cluster-kubeconfig.yml          kubernetes/admin.conf           .docker/config.json
.dockercfg                      .dockerconfigjson               helm/registry/config.json       containers/auth.json
.vault-token                    .vault_pass                     .vault_pass.txt                 vault_password
.vault-password-file            ansible-vault-pass.txt          encrypted_data_bag_secret       secrets/db_password
run/secrets/api_token           secrets/smtp.txt                .secrets/prod                   .secrets

credentials                     credentials.json                credentials.json.bak            credentials.bak.json
credentials (1).json            credentials copy.json           .credentials.json               aws_credentials.csv
db-credentials.prod.yaml        export_credentials.cfg          credentials.xml                 credentials.yml
secrets.yml                     config/secrets.yml              secrets.yaml                    secrets.json
secrets.prod.yaml               secrets-staging.json            .secrets.toml                   .streamlit/secrets.toml
app.secrets.json                db_secret.txt                   k8s/secret.yaml                 values-secret.yaml
creds.json                      api_key.txt                     apikeys.json                    api-keys.yaml
github_token                    access_token.txt                .github-token                   bot_token.txt
passwords.txt                   password.csv                    Passwords.xlsx                  master_key.txt

.npmrc                          .yarnrc                         .pypirc                         .gem/credentials
.cargo/credentials.toml         .m2/settings.xml                settings-security.xml
.gradle/gradle.properties
.composer/auth.json             auth.json                       .bundle/config                  .sbt/.credentials
keystore.properties             key.properties                  local.properties                .pip/pip.conf
app.publishsettings             web.pubxml                      service.cscfg                   ConnectionStrings.config

.netrc                          _netrc                          .pgpass                         pgpass.conf
.my.cnf                         .mylogin.cnf                    .htpasswd                       .htpasswd.bak
admin.htpasswd                  .git-credentials                .config/gh/hosts.yml            .config/hub
sftp-config.json                .vscode/sftp.json               .ftpconfig                      .remote-sync.json
filezilla.xml                   sitemanager.xml                 .idea/WebServers.xml
.idea/dataSources.local.xml
http-client.private.env.json    .msmtprc                        .muttrc                         .purple/accounts.xml
.smbcredentials                 wpa_supplicant.conf             etc/shadow                      .httr-oauth
.bash_history                   .zsh_history                    .python_history                 .psql_history
.mysql_history                  bash_history                    pry.history                     .node_repl_history
.Rhistory                       .lesshst                        ConsoleHost_history.txt         .viminfo
wp-config.php                   wp-config.php.bak               LocalSettings.php               config/prod.secret.exs
config/initializers/secret_token.rb                             logins.json                     unattend.xml
"""

VISIBLE = """
.env.example                    .env.sample                     .env.template                   .env.dist
sub/.env.EXAMPLE                example.env                     .env.local.example              .env.example.bak
.env-sample                     template.env                    .env.j2                         .env.schema
.env.d.ts                       env.d.ts                        env.py                          .env.md
.env.vault                      .flaskenv                       environment.yml                 venv.cfg
.dev.vars.example               .envrc.example                  terraform.tfvars.example        example.tfvars
main.tf                         variables.tf                    secrets.tf                      .terraform.lock.hcl

id_rsa.pub                      .ssh/id_ed25519.pub             .ssh/known_hosts                .ssh/authorized_keys
id_ed25519-cert.pub             id_rsa.example                  id_rsa.enc                      deploy_rsa.pub
id_rsa_test.go                  rsa.py                          rsa.c                           ed25519.go
cert.pem                        cacert.pem                      fullchain.pem                   chain.pem
ca-bundle.pem                   server-cert.pem                 public_key.pem                  dhparams.pem
ca.crt                          server.crt                      request.csr                     root.cer
key.pem.example                 key.py                          keys.json                       keyboard.json
monkey.key.ts                   test_private_key.rs             private_key.go                  docs/private_key.md
keystore.go                     KeyStore.java                   keychain.swift                  kdbx_parser.py

secrets.py                      secrets.go                      lib/secrets.rb                  src/secrets/mod.rs
credentials.go                  credentials.py                  Credentials.java                CredentialsProvider.cs
secret_manager.ts               client_secret.py                service_account.py              token.js
passwords.php                   password.rs                     kubeconfig.go                   vault_password.py
docs/secrets.md                 docs/credentials.rst            docs/topics/passwords.txt       doc/credentials.txt
credentials.example.json        secrets.sample.yaml             secrets-template.yml            secrets.yaml.dist
credentials.schema.json         schemas/credentials.json        credentials.yml.enc             secrets.enc.yaml
prod.sops.yaml                  secrets.sops.yaml               sealed-secret.yaml              external-secrets.yaml
create-secret.yaml              templates/secrets.yaml          charts/app/templates/secret.yaml
.github/workflows/secrets.yml   .github/secret_scanning.yml     tasks/secrets.yml               .secrets.baseline
lang/en/auth.json               locales/de/passwords.txt        i18n/credentials.json           auth.py
secrets/Makefile                secrets/README.md               secrets/main.go                 secrets/values.yaml
pkg/secrets/OWNERS              tokenizer.json                  tokens.json                     tokens.txt
token.go                        secretary.txt                   secretariat.json                credentialed.csv

.gitconfig                      .bashrc                         .profile                        .gitignore
settings.py                     config.php                      database.yml                    appsettings.json
nuget.config                    .yarnrc.yml                     pip.conf                        gradle.properties
settings.xml                    config.json                     config                          hosts.yml
config.toml                     docker-compose.yml              values.yaml                     package.json
HISTORY                         HISTORY.md                      history.py                      history
migration_history.sql           CHANGELOG                       access.log                      dump.sql
app.config                      web.config                      passwd.c                        shadow.css
README.md                       Makefile                        Dockerfile                      LICENSE
a.keys                          key                             env                             public.asc
.npmignore                      .dockerignore                   .editorconfig                   .prettierrc
wg.go                           wireguard.conf.example          known_hosts                     hudson.py
"""


def names(table):
    """The names of a table, whose columns are two spaces or more apart."""
    return [name for line in table.splitlines() for name in re.split("  +", line.strip()) if name]


@pytest.mark.parametrize(("table", "secret"), [(SECRET, True), (VISIBLE, False)], ids=["secret", "visible"])
def test_a_name_tells_whether_a_file_holds_secrets(table, secret):
    wrong = [name for name in names(table) if is_secret(name.encode()) is not secret]
    assert wrong == []


def test_the_case_of_a_name_changes_nothing():
    for table in (SECRET, VISIBLE):
        for name in names(table):
            assert is_secret(name.upper().encode()) is is_secret(name.encode()), name


@pytest.mark.parametrize(
    "suffix", [".bak", "~", ".old", ".orig", ".swp", ".bak2", "-20240101", ".2024-01-01", ".1", " (2)", "_backup"]
)
def test_a_copy_of_a_secret_is_one_and_a_copy_of_anything_else_is_not(suffix):
    for name in names(SECRET):
        assert is_secret(f"{name}{suffix}".encode()), name
    for name in names(VISIBLE):
        assert not is_secret(f"{name}{suffix}".encode()), name


def test_no_name_takes_long():
    """A project chooses its names: 255 bytes that almost match, in a path of 4,096."""
    folder = b"secrets/" * 480
    began = time.process_time()
    for text in (
        b"secret-",
        b"secret1",
        b"_rsa",
        b"private",
        b".env",
        b"0",
        b".bak",
        b"kubeconfig_",
        b"service",
        b"docs",
    ):
        is_secret(folder + (text * 255)[:254] + b"!")
    assert time.process_time() - began < 1
