package dev.redlock.transport;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.MessageDigest;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.UnrecoverableKeyException;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.TrustManagerFactory;

/**
 * One reading of all files of the TLS options.
 *
 * <p>A digest of the contents shows whether a file has changed, whatever its time of change says.
 *
 * @threading caller-confined; reads files, so not on an event loop
 */
public final class TlsFiles {

    /** Far above any trust store; a wrong path may lead to a large file. */
    static final int LENGTH_MAX = 8 << 20;
    private static final int JKS_MAGIC = 0xFEEDFEED;
    /** How to prove that a private key belongs to a public key, by the algorithm of the keys. */
    private static final Map<String, String> SIGNATURES = Map.of("RSA", "SHA256withRSA", "EC", "SHA256withECDSA",
            "EdDSA", "EdDSA");

    private final TlsSpec spec;
    private final List<Path> paths = new ArrayList<>();
    private final List<byte[]> contents = new ArrayList<>();

    private TlsFiles(TlsSpec spec) {
        this.spec = spec;
    }

    /**
     * Reads all files.
     *
     * @param spec names them
     * @return their contents
     * @throws TlsFileException if a file cannot be read
     */
    public static TlsFiles read(TlsSpec spec) throws TlsFileException {
        TlsFiles files = new TlsFiles(spec);
        if (spec.trust() instanceof TlsSpec.PemTrust pem) {
            for (Path file : pem.files()) {
                files.read(file);
            }
        } else if (spec.trust() instanceof TlsSpec.StoreFile store) {
            files.read(store.file());
        }
        if (spec.identity() instanceof TlsSpec.PemIdentity pem) {
            files.read(pem.certificates());
            files.read(pem.key());
        } else if (spec.identity() instanceof TlsSpec.StoreFile store) {
            files.read(store.file());
        }
        return files;
    }

    private void read(Path file) throws TlsFileException {
        byte[] content;
        try (InputStream in = Files.newInputStream(file)) {
            content = in.readNBytes(LENGTH_MAX + 1);
        } catch (NoSuchFileException e) {
            throw new TlsFileException(file + " does not exist: check the path in TlsOptions");
        } catch (IOException e) {
            throw new TlsFileException(file + (Files.isDirectory(file)
                    ? " is a directory: give the path of the file in it"
                    : " cannot be read (" + e.getClass().getSimpleName() + "): check its permissions"));
        }
        if (content.length > LENGTH_MAX) {
            throw new TlsFileException(file + " is longer than " + LENGTH_MAX + " bytes: check the path in TlsOptions");
        }
        paths.add(file);
        contents.add(content);
    }

    /** A digest of all contents. */
    byte[] digest() throws TlsFileException {
        try {
            MessageDigest all = MessageDigest.getInstance("SHA-256");
            for (byte[] content : contents) {
                all.update(MessageDigest.getInstance("SHA-256").digest(content));
            }
            return all.digest();
        } catch (GeneralSecurityException e) {
            throw new TlsFileException("this JDK has no SHA-256");
        }
    }

    /** Overwrites the contents, which may have a private key. */
    public void clear() {
        contents.forEach(content -> Arrays.fill(content, (byte) 0));
    }

    private byte[] contentOf(Path file) {
        return contents.get(paths.indexOf(file));
    }

    // ---- trusted certificates ---------------------------------------------------------------------------------------

    /**
     * Trusts the configured certificates.
     *
     * @return null for those of the JDK
     * @throws TlsFileException if a file has other contents
     */
    public TrustManagerFactory trust() throws TlsFileException {
        if (spec.trust() == null) {
            return null;
        }
        KeyStore store = spec.trust() instanceof TlsSpec.StoreFile file ? trustStore(file) : pemTrust();
        try {
            TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            factory.init(store);
            return factory;
        } catch (GeneralSecurityException e) {
            throw new TlsFileException(spec.trust() + " cannot be used as trust store: " + e.getMessage());
        }
    }

    private KeyStore pemTrust() throws TlsFileException {
        try {
            KeyStore store = emptyStore();
            for (Path file : ((TlsSpec.PemTrust) spec.trust()).files()) {
                for (X509Certificate certificate : new PemFile(file, contentOf(file)).certificates()) {
                    store.setCertificateEntry("trusted-" + store.size(), certificate);
                }
            }
            return store;
        } catch (GeneralSecurityException | IOException e) {
            throw new TlsFileException(spec.trust() + " cannot be used as trust store: " + e.getMessage());
        }
    }

    private KeyStore trustStore(TlsSpec.StoreFile file) throws TlsFileException {
        char[] password = passwordOf(file.file(), file.password());
        KeyStore store = load(file, password);
        try {
            for (String alias : Collections.list(store.aliases())) {
                if (store.isCertificateEntry(alias)) {
                    return store;
                }
            }
            checkPassword(file, password, store);
        } catch (GeneralSecurityException e) {
            throw new TlsFileException(file + " cannot be read: " + e.getMessage());
        }
        throw new TlsFileException(
                file + " has no trusted certificate: add one with keytool -importcert -keystore " + file);
    }

    // ---- certificate and key of the client --------------------------------------------------------------------------

    /**
     * The client's certificate and key.
     *
     * @return null for none
     * @throws TlsFileException if a file has other contents, or the key is that of another certificate
     */
    public KeyManagerFactory identity() throws TlsFileException {
        if (spec.identity() == null) {
            return null;
        }
        char[] password = new char[0];
        try {
            KeyStore store = emptyStore();
            if (spec.identity() instanceof TlsSpec.PemIdentity pem) {
                addPem(store, pem);
            } else if (spec.identity() instanceof TlsSpec.StoreFile file) {
                addKeyOf(store, file);
            }
            KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            factory.init(store, password);
            return factory;
        } catch (GeneralSecurityException | IOException e) {
            throw new TlsFileException(spec.identity() + " cannot be used as client certificate: " + e.getMessage());
        }
    }

    private void addPem(KeyStore store, TlsSpec.PemIdentity pem) throws TlsFileException, GeneralSecurityException {
        List<X509Certificate> chain = new PemFile(pem.certificates(), contentOf(pem.certificates())).certificates();
        PublicKey publicKey = chain.get(0).getPublicKey();
        PrivateKey key = new PemFile(pem.key(), contentOf(pem.key())).key(publicKey.getAlgorithm(),
                passwordOf(pem.key(), pem.password()));
        if (!isPair(key, publicKey)) {
            throw new TlsFileException(pem.key() + " is not the key of the first certificate in " + pem.certificates()
                    + ": use the key of that certificate");
        }
        store.setKeyEntry("client", key, new char[0], chain.toArray(Certificate[]::new));
    }

    private void addKeyOf(KeyStore store, TlsSpec.StoreFile file) throws TlsFileException, GeneralSecurityException {
        char[] password = passwordOf(file.file(), file.password());
        KeyStore source = load(file, password);
        for (String alias : Collections.list(source.aliases())) {
            if (source.isKeyEntry(alias)) {
                if (store.size() > 0) {
                    throw new TlsFileException(file + " has several keys: keep only the key of the client");
                }
                addKeyOf(store, file, source, alias, password);
            }
        }
        if (store.size() == 0) {
            checkPassword(file, password, source);
            throw new TlsFileException(file + " has no private key: a client certificate needs its key");
        }
    }

    private void addKeyOf(KeyStore store, TlsSpec.StoreFile file, KeyStore source, String alias,
            char[] password) throws TlsFileException, GeneralSecurityException {
        Certificate[] chain = source.getCertificateChain(alias);
        try {
            if (chain == null) {
                checkPassword(file, password, source);
            }
            if (!(source.getKey(alias, password) instanceof PrivateKey key) || chain == null) {
                throw new TlsFileException(file + " has a key without certificate: add its certificate");
            }
            if (!isPair(key, chain[0].getPublicKey())) {
                throw new TlsFileException(file + " has a key and a certificate that do not belong together");
            }
            store.setKeyEntry("client", key, new char[0], chain);
        } catch (UnrecoverableKeyException e) {
            throw password == null
                    ? noPassword(file)
                    : new TlsFileException(file + " has a key with another password: give the key that of the file");
        }
    }

    /** A key of another certificate would only be noticed by the node. */
    private static boolean isPair(PrivateKey key, PublicKey publicKey) throws GeneralSecurityException {
        String algorithm = SIGNATURES.get(publicKey.getAlgorithm());
        if (algorithm == null) {
            return true;
        }
        byte[] text = {1, 2, 3, 4};
        Signature signature = Signature.getInstance(algorithm);
        signature.initSign(key);
        signature.update(text);
        byte[] signed = signature.sign();
        signature.initVerify(publicKey);
        signature.update(text);
        return signature.verify(signed);
    }

    // ---- key stores -------------------------------------------------------------------------------------------------

    private static KeyStore emptyStore() throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        return store;
    }

    private KeyStore load(TlsSpec.StoreFile file, char[] password) throws TlsFileException {
        byte[] content = contentOf(file.file());
        try {
            KeyStore store = KeyStore.getInstance(isJks(content) ? "JKS" : "PKCS12");
            store.load(new ByteArrayInputStream(content), password);
            return store;
        } catch (IOException e) {
            throw new TlsFileException(file + (e.getCause() instanceof UnrecoverableKeyException
                    ? " has another password: check the password in TlsOptions"
                    : " is damaged or neither PKCS12 nor JKS: replace the file"));
        } catch (GeneralSecurityException | RuntimeException e) {
            throw new TlsFileException(file + " cannot be read as key store (" + e.getClass().getSimpleName()
                    + "): replace the file");
        }
    }

    /** Without a password, a PKCS12 file is read and shows none of its certificates, because they are encrypted. */
    private void checkPassword(TlsSpec.StoreFile file, char[] password, KeyStore store)
            throws TlsFileException, GeneralSecurityException {
        if (password != null || isJks(contentOf(file.file()))) {
            return;
        }
        for (String alias : Collections.list(store.aliases())) {
            if (store.getCertificate(alias) != null) {
                return;
            }
        }
        throw noPassword(file);
    }

    private static TlsFileException noPassword(TlsSpec.StoreFile file) {
        return new TlsFileException("there is no password for " + file
                + ": its supplier returned null; return the password of the file");
    }

    private static boolean isJks(byte[] content) {
        int magic = 0;
        for (int i = 0; i < Math.min(Integer.BYTES, content.length); i++) {
            magic = magic << 8 | content[i] & 0xFF;
        }
        return magic == JKS_MAGIC;
    }

    /** The message of an exception of the user's may be a secret. Some languages throw undeclared checked ones. */
    private static char[] passwordOf(Path file, Supplier<char[]> password) throws TlsFileException {
        try {
            return password.get();
        } catch (Throwable e) {
            throw new TlsFileException("the password supplier of " + file + " threw " + e.getClass().getName());
        }
    }
}
