"""Tells files that hold secrets by their names alone: tables of names, and of parts that may stand around them.

Invariant: the verdict depends on the path only, ignoring case. A copy of a secret (`id_rsa.bak`, `.env~`) is a secret,
too; a sample of one (`.env.example`) is not.

The names come from rule sets that others keep: the signatures of gitrob and shhgit, the paths of gitleaks, the files
that GitLab's push rules refuse, the files that templates of github/gitignore leave out as sensitive (Android, Elixir,
Godot, Laravel, Node, Packer, Python, R, Rails, Terraform, VisualStudio, WordPress, JetBrains, PuTTY,
SublimeText), and the places where tools say that they keep credentials. trufflehog and detect-secrets read contents,
so they have no names to take.

Some of these sets name more files. The following stay visible, because most of them hold no secret and people search
them:
- source code that deals with secrets (`secrets.py`, `settings.py`, `knife.rb`), except the names of `_CODE`, which
  exist to hold them;
- settings that belong to a project (`database.yml`, `nuget.config`, `.yarnrc.yml`, `.gitconfig`, `.bashrc`), logs,
  dumps, databases;
- encrypted files (`credentials.yml.enc`, `*.sops.yaml`, `.env.vault`), and public ones (`*.pub`, `*.crt`,
  `known_hosts`).

A `.pem` may be a key, a certificate, or both in one file; the name alone does not tell. It counts as a key unless its
name says certificate, chain or public and does not say private (`fullchain.pem`, `public_key.pem`): a hidden
certificate costs one search, a key that was shown cannot be taken back.
"""

from __future__ import annotations

import re
from typing import Any

import re2

from ctxd.indexer.patterns.glob import options


def _any_of(patterns: bytes) -> Any:
    """One expression from patterns separated by spaces. For RE2, because a project may choose long names."""
    return re2.compile(b"|".join(patterns.split()), options())


_KEYS = frozenset(
    b"""
    .bek .bks .fve .jceks .jks .kdb .kdbx .key .keychain .keychain-db .keypair .keyring .keystore .keytab
    .kwallet .p12 .p8 .pfx .pk8 .pkcs12 .pkcs8 .ppk .psafe3 .snk .tpm .wallet
    """.split()
)
"""Last extensions of keys and stores of keys. `.pem` has a separate rule."""

_EXTENSIONS = frozenset(
    b"""
    .creds .credentials .cscfg .env .envrc .history .htpasswd .kubeconfig .netrc .ovpn .pgpass .publishsettings
    .pubxml .rdp .remmina .secret .secrets .tblk .tfstate .tfvars .token
    """.split()
)
"""Last extensions of other files."""

_NAMES = frozenset(
    b"""
    .dev.vars .env.keys .envrc env.local .api_key .apikey .creds .credentials .mnemonic .passwd .secret .secrets
    .token mnemonic.txt seed_phrase.txt token.pickle token.txt .coveralls.yml .gem_credentials .gist
    .git-credentials .httr-oauth .npmrc .pypirc .wakatime.cfg .yarnrc .dbshell .my.cnf .mylogin.cnf .odbc.ini
    .pg_service.conf .pgpass pgpass pgpass.conf robomongo.json credentials-config.json cwallet.sso
    datasources.local.xml dbeaver-data-sources.xml .htdigest .htpasswd htpasswd initialadminpassword
    hudson.util.secret jupyterhub_cookie_secret proftpdpasswd
    jenkins.plugins.publish_over_ssh.bapsshpublisherplugin.xml .netrc .rhosts .smbcredentials _netrc
    chap-secrets pap-secrets wpa_supplicant.conf .boto .databrickscfg .edgerc .passwd-s3fs .s3cfg .tugboat
    boto.cfg heroku.json rclone.conf s3cfg accesstokens.json application_default_credentials.json
    azureprofile.json google-services.json googleservice-info.plist kaggle.json rootkey.csv
    service_principal_entries.json .dockercfg .dockerconfigjson .terraformrc .vault-token dockerconfig.json
    encrypted_data_bag_secret kubeconfig terraform.rc credentials.tfrc.json connectionstrings.config
    connectionstrings.json key.properties keystore.properties local.properties settings-security.xml
    signing.properties .ftpconfig .ftppass .remote-sync.json deployment-config.json filezilla.xml
    http-client.private.env.json recentservers.xml sftp-config.json sitemanager.xml webservers.xml .esmtprc
    .fetchmailrc .mbsyncrc .msmtprc .muttrc .offlineimaprc .trc muttrc .histfile .history .lesshst .rhistory
    .viminfo consolehost_history.txt deploy-key deploy_key id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk
    id_rsa otr.private_key private-key private_key privatekey secring.gpg ssh-key ssh_key autounattend.xml
    key3.db key4.db logins.json signons.sqlite sysprep.inf unattend.xml wallet.dat
    """.split()
)
"""Whole names."""

_PATHS = frozenset(
    b"""
    .aws/config .aws/credentials aws/credentials .azure/msal_token_cache.bin .azure/msal_token_cache.json
    .bluemix/config.json .cf/config.json .config/doctl/config.yaml .fly/config.yml .kube/config .oci/config
    .railway/config.json doctl/config.yaml gcloud/access_tokens.db gcloud/credentials.db kubernetes/admin.conf
    netlify/config.json .config/hub .config/op/config gh/hosts.yml git/credentials glab-cli/config.yml
    .circleci/cli.yml .travis/config.yml .bundle/config .cargo/credentials .cargo/credentials.toml
    .gem/credentials .composer/auth.json .gradle/gradle.properties .hex/hex.config .ivy2/.credentials
    .m2/settings.xml .pip/pip.conf .sbt/.credentials .dbt/profiles.yml .docker/config.json .huggingface/token
    .snowflake/connections.toml .snowsql/config .streamlit/secrets.toml containers/auth.json
    helm/registry/config.json huggingface/token .irssi/config .purple/accounts.xml .recon-ng/keys.db .vnc/passwd
    .vscode/sftp.json .weechat/sec.conf etc/gshadow etc/shadow solana/id.json
    """.split()
)
"""Names that mean a secret only in these folders."""

_CODE = re.compile(rb"localsettings\.php|secret_token\.rb|wp-config\.php|.*\.decrypt\.private\.php|.*\.secret\.exs")
"""Source code that exists to hold secrets."""

_FOLDERS = re.compile(
    rb"(?:^|/)(?:\.auth|\.gnupg|\.password-store|\.secrets|\.ssh|\.config/configstore|\.config/gcloud|\.subversion/auth|\.svn/auth"
    rb"|[^/]*\.agilekeychain|[^/]*\.opvault)/"
)
"""Folders in which every file is a secret, except those of `_OPEN`."""

_OPEN = frozenset(b"allowed_signers authorized_keys known_hosts readme readme.md".split())

_KEY_NAMES = _any_of(
    rb"""
    .*[_-](rsa|dsa|ecdsa|ed25519)([_-]sk)?
    id_(rsa|dsa|ecdsa|ed25519)[_.-][^.]*
    ssh_host_.*key
    (.*[._-])?(private|secret)([_.-]?keys?)?([._-].*)?\.(asc|der|gpg|pgp|pkcs7)
    utc--.*
    """
)
"""Names of keys: `deploy_rsa`, `id_rsa.work`, `private.asc`, a wallet of geth."""

_PATTERNS = _any_of(
    rb"""
    \.env[._-].*
    \.dev\.vars\..*
    .*\.tfstate\..*
    .*\.tfvars\.json
    .*\.pkrvars\.hcl
    .*\.publish\.xml
    (.*[._-])?kubeconfig([_-][^.]*)?(\.(conf|json|ya?ml))?
    \..*[_-]history
    (bash|csh|fish|irb|ksh|mongo|mysql|node_repl|pry|psql|python|rediscli|sh|sqlite|zsh)[_-]history
    \.?(ansible[_-])?vault[_.-]?(key|pass|passwd|password|token)([_.-]?file)?(\.txt)?
    wg[0-9]+\.conf
    sftp-config-alt.*\.json
    .*service[_-]?account.*\.json
    .*firebase[_-]?adminsdk.*\.json
    .*client[_-]?secrets?([_.-].*)?\.json
    .*[_-]keyfile\.json
    (.*[._-])?(gcloud|gcp)[_-](.*[_-])?(auth|key|sa)\.json
    (.*[._-])?accesskeys?([_.-].*)?\.csv
    """
)
"""Patterns of whole names."""

_DATA = _any_of(
    rb"""
    (.*[._-])?(secrets?|credentials?|creds|(api|master|private)[_-]?keys?|(access|auth|bot|gh|github|gitlab|npm|pypi|slack)[_-]?tokens?)
    """.strip()
    + rb"""
    ([\x20._-]*(ci|default|dev|devel|development|file|live|local|private|prod|production|qa|stage|staging|test|testing|uat|[0-9]+))*
    """.strip()
    + rb"""
    (\.(cfg|cnf|conf|config|csv|dat|hcl|ini|json5?|jsonc|plist|properties|toml|tsv|txt|xlsx?|xml|ya?ml))?
    """.strip()
    + rb"""
    (passwords?|passwd)\.(cfg|conf|csv|dat|ini|tsv|txt|xlsx?)
    auth\.json
    """
)
"""Names of data files: a word for the secret, perhaps a word for its place, perhaps an extension.
`db-credentials.prod.yaml` is one."""

_ABOUT = re.compile(
    rb"(?:^|[._-])(?:bad|check|create|delete|detect|external|fake|generate|get|invalid|list|manage|mock|no|public|remove|reset|rotate|scan"
    rb"|sealed|update|use|verify)[._-](?:secret|credential|cred|api|master|private|access|auth|bot|g|npm|pypi|slack)"
)
"""With such a word in front, a name of `_DATA` is only about secrets: `external-secrets.yaml` sets up an operator."""

_ABOUT_FOLDERS = re.compile(
    rb"(?:^|/)(?:\.github|\.gitlab|charts?|crds?|docs?|documentation|handlers|i18n|l10n|langs?|locales?|man|openapi|schemas?|tasks"
    rb"|templates?|translations?|workflows)/"
)
"""Folders whose data is only about secrets: `docs/topics/passwords.txt`, a chart's `templates/secrets.yaml`."""

_SAMPLES = frozenset(
    b"blank defaults dist dummy ejs empty erb example examples gotmpl hbs j2 jinja jinja2 mustache placeholder sample samples schema"
    b" skeleton stub template templates tmpl tpl".split()
)
"""Words in names of samples. The name of a key must end in one: `example.com.key` is no sample."""

_SEALED = frozenset(b"age enc encrypted sealed sops".split())
"""The last or second last extension of encrypted files that are meant to be committed."""

_READABLE = frozenset(
    b".adoc .bash .c .cc .cjs .cpp .cs .css .cts .ex .exs .go .graphql .h .hpp .html .java .js .jsx .kt .kts .lua .md .mdx .mjs .mts .nix"
    b" .php .pl .proto .ps1 .py .pyi .rb .rs .rst .scala .sh .sql .svelte .swift .tf .ts .tsx .vue .zsh".split()
)
"""Extensions of source code and documents: `.env.d.ts` declares types."""

_PUBLIC = frozenset(b".cer .crl .crt .csr .p7b .p7c .pub".split())
_PEM_WITHOUT_KEY = frozenset(
    b"bundle ca cacert cacerts cas cert certificate certificates certs chain crl crt csr dhparam dhparams fullchain intermediate pub"
    b" pubkey public publickey root rootca roots trust truststore".split()
)
_PEM_WITH_KEY = frozenset(b"priv privkey private".split())
"""Words of names of `.pem` files."""

_IN_SECRETS = re.compile(rb"(?:^|/)secrets/[^/.]+(?:\.txt)?")
"""Files that Docker and others mount: each holds one secret, which its name tells."""
_NOT_IN_SECRETS = frozenset(
    b"build codeowners dockerfile gemfile jenkinsfile justfile license makefile owners procfile".split()
)

_COPY = re.compile(
    rb"""
    (?P<original>.+?)
    (?: [~\#]
      | [ ._-](?:back|backup|bak|bkp|copy|deleted|disabled|dpkg-old|old|orig|original|prev|previous|rej|rpmsave|save|saved|sw[nop]|temp|tmp)
        [0-9]*
      | [.][0-9]{1,3} | [ ]?\([0-9]+\)
      | [ ._-]?(?:19|20)[0-9]{2}[_.-]?[01][0-9][_.-]?[0-3][0-9](?:[t_.-]?[0-9]{2}[_.-]?[0-9]{2}(?:[_.-]?[0-9]{2})?)?z?
    )
    (?P<extension>\.(?:csv|env|json|key|pem|p12|tfstate|tfvars|toml|txt|xml|ya?ml)|)
    """,
    re.VERBOSE,
)
"""A copy: its mark stands after the name or before its extension. An editor's swap file or lock is one, too."""
_COPIES_MAX = 4  # `.env.bak.20240101.old~`

_BETWEEN_WORDS = re.compile(rb"[ ._-]+")


def is_secret(path: bytes) -> bool:
    """True if the name of a file says that it holds secrets."""
    folder, slash, name = path.lower().rpartition(b"/")
    if _extension_of(name) in _READABLE:  # most files of a project end here
        return _CODE.fullmatch(name) is not None
    name = _original_of(name)
    if _holds(folder + slash, name):
        return True
    # Emacs writes `.#name` and `#name#`, Vim `.name.swp`. People also keep keys as `.id_rsa`, `.credentials.json`.
    bare = name.lstrip(b"#.")
    return bare != name and (_holds(folder + slash, bare) or _holds(folder + slash, b"." + bare))


def _original_of(name: bytes) -> bytes:
    """The name of the file that this one is a copy of, or its own name."""
    for _ in range(_COPIES_MAX):
        copy = _COPY.fullmatch(name)
        if copy is None:
            break
        name = copy["original"] + copy["extension"]
    return name


def _holds(folder: bytes, name: bytes) -> bool:
    extension = _extension_of(name)
    if extension in _READABLE:
        return _CODE.fullmatch(name) is not None
    words = _BETWEEN_WORDS.split(name)
    extensions = name.split(b".")[1:][-2:]
    if extension in _PUBLIC or words[-1] in _SAMPLES or (extensions and extensions[-1] in _SEALED):
        return False
    if extension == b".pem":
        return _pem_holds(words)
    if extension in _KEYS or name in _NAMES or _KEY_NAMES.fullmatch(name):
        return True
    if folder and _in_a_folder_of_secrets(folder + name, name):
        return True
    if not _SAMPLES.isdisjoint(words) or not _SEALED.isdisjoint(extensions):
        return False
    if name == b".env.vault":  # dotenv-vault encrypts it; its key is in .env.keys
        return False
    if name == b".env" or extension in _EXTENSIONS or _PATTERNS.fullmatch(name):
        return True
    return _DATA.fullmatch(name) is not None and not _ABOUT.search(name) and not _ABOUT_FOLDERS.search(folder)


def _pem_holds(words: list[bytes]) -> bool:
    if not _PEM_WITH_KEY.isdisjoint(words):
        return True
    if b"key" in words or b"keys" in words:
        return b"public" not in words and b"pub" not in words
    return _PEM_WITHOUT_KEY.isdisjoint(words)


def _in_a_folder_of_secrets(path: bytes, name: bytes) -> bool:
    parts = path.rsplit(b"/", 3)
    if b"/".join(parts[-2:]) in _PATHS or b"/".join(parts[-3:]) in _PATHS:
        return True
    if _FOLDERS.search(path):
        return name not in _OPEN
    inside = _IN_SECRETS.search(path)
    return (
        inside is not None
        and inside.end() == len(path)
        and name not in _NOT_IN_SECRETS
        and not _ABOUT_FOLDERS.search(path)
    )


def _extension_of(name: bytes) -> bytes:
    dot = name.rfind(b".")
    return name[dot:] if dot > 0 else b""
