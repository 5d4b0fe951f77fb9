package dev.redlock.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.redlock.api.TlsProvider;
import dev.redlock.tls.TestCertificates;
import io.netty.pkitesting.CertificateBuilder.Algorithm;
import io.netty.pkitesting.X509Bundle;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;
import javax.crypto.Cipher;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class TlsFilesTest {

    private static final TlsSpec NONE = new TlsSpec(null, null, List.of("TLSv1.3"), true, TlsProvider.JDK);
    private static final char[] PASSWORD = "file-secret".toCharArray();
    /** 1.2.840.113549.1.5.13. */
    private static final byte[] PBES2 = {42, -122, 72, -122, -9, 13, 1, 5, 13};
    /** 1.2.840.113549.1.12.1.3. */
    private static final byte[] PBE_WITH_SHA1_AND_3DES = {42, -122, 72, -122, -9, 13, 1, 12, 1, 3};
    private static final Supplier<char[]> RIGHT = PASSWORD::clone;

    @TempDir
    Path folder;
    private TestCertificates certificates;
    private X509Bundle client;

    @BeforeEach
    void issue() {
        certificates = new TestCertificates(folder);
        client = certificates.forClient();
    }

    private static void read(TlsSpec spec) throws TlsFileException {
        TlsFiles files = TlsFiles.read(spec);
        files.digest();
        assertEquals(spec.trust() == null, files.trust() == null);
        assertEquals(spec.identity() == null, files.identity() == null);
        files.clear();
    }

    private static void assertProblem(String message, TlsSpec spec) {
        TlsFileException e = assertThrows(TlsFileException.class, () -> read(spec));
        assertEquals(message, e.getMessage());
        assertFalse(e.getMessage().contains("secret"), e.getMessage());
    }

    private static TlsSpec of(TlsSpec.Trust trust, TlsSpec.Identity identity) {
        return new TlsSpec(trust, identity, NONE.protocols(), true, TlsProvider.JDK);
    }

    private static TlsSpec trusting(Path... files) {
        return of(new TlsSpec.PemTrust(List.of(files)), null);
    }

    private static TlsSpec trustingStore(Path file, Supplier<char[]> password) {
        return of(new TlsSpec.StoreFile(file, password), null);
    }

    private static TlsSpec store(Path file, Supplier<char[]> password) {
        return of(null, new TlsSpec.StoreFile(file, password));
    }

    private TlsSpec pem(String certificate, String key, Supplier<char[]> password) {
        return of(null, new TlsSpec.PemIdentity(certificates.write("c.pem", certificate),
                certificates.write("c.key", key), password));
    }

    private TlsSpec pem(String certificate, String key) {
        return pem(certificate, key, () -> null);
    }

    private Path file(String name) {
        return folder.resolve(name);
    }

    // ---- files that can be used -------------------------------------------------------------------------------------

    @Test
    void withoutFilesThereIsNothingToRead() throws TlsFileException {
        TlsFiles files = TlsFiles.read(NONE);
        assertNull(files.trust());
        assertNull(files.identity());
    }

    @ParameterizedTest
    @EnumSource(names = {"ecp256", "ecp384", "rsa2048", "ed25519"})
    void keysOfEachAlgorithmAreRead(Algorithm algorithm) throws Exception {
        X509Bundle owner = certificates.forClient(algorithm);
        read(pem(owner.getCertificatePathPEM(), owner.getPrivateKeyPEM()));
        read(store(certificates.storeFile("k.p12", "PKCS12", PASSWORD, null, owner), RIGHT));
        assertProblem(file("c.key") + " is not the key of the first certificate in " + file("c.pem")
                + ": use the key of that certificate",
                pem(owner.getCertificatePathPEM(), certificates.forClient(algorithm).getPrivateKeyPEM()));
    }

    @Test
    void textAroundTheBlocksIsIgnored() throws Exception {
        String authority = certificates.authority().getCertificatePEM();
        read(trusting(certificates.write("ca.pem", "Subject: CN=a\n" + authority.replace("\r", "") + "# next\r\n"
                + client.getCertificatePEM() + "\n\n")));
        read(pem("Bag Attributes\n" + client.getCertificatePathPEM(), client.getCertificatePathPEM()
                + client.getPrivateKeyPEM()));
    }

    @ParameterizedTest
    @ValueSource(strings = {"PKCS12", "JKS"})
    void bothTypesOfStoresAreRead(String type) throws Exception {
        Path both = certificates.storeFile("both", type, PASSWORD, certificates.authority(), client);
        read(of(new TlsSpec.StoreFile(both, RIGHT), new TlsSpec.StoreFile(both, RIGHT)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"PBEWithHmacSHA256AndAES_256", "PBEWithHmacSHA1AndAES_128", "PBEWithSHA1AndDESede"})
    void encryptedKeysAreRead(String algorithm) throws Exception {
        String key = encrypted(algorithm, client.getKeyPair().getPrivate().getEncoded());
        read(pem(client.getCertificatePEM(), key, RIGHT));
        assertProblem(file("c.key") + " has a key that cannot be decrypted: check its password",
                pem(client.getCertificatePEM(), key, "other"::toCharArray));
        assertProblem(file("c.key") + " has an encrypted key and there is no password for it: give the password in"
                + " TlsOptions.clientCertificate", pem(client.getCertificatePEM(), key));
    }

    private static String encrypted(String algorithm, byte[] key) throws Exception {
        Cipher cipher = Cipher.getInstance(algorithm);
        cipher.init(Cipher.ENCRYPT_MODE,
                SecretKeyFactory.getInstance(algorithm).generateSecret(new PBEKeySpec(PASSWORD)));
        byte[] parameters = cipher.getParameters().getEncoded();
        byte[] oid = algorithm.startsWith("PBEWithHmac") ? PBES2 : PBE_WITH_SHA1_AND_3DES;
        return block("ENCRYPTED PRIVATE KEY",
                der(0x30, der(0x30, der(6, oid), parameters), der(4, cipher.doFinal(key))));
    }

    /** A value of ASN.1; the JDK does not encode keys in the newer form. */
    private static byte[] der(int tag, byte[]... parts) {
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            content.writeBytes(part);
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(tag);
        if (content.size() > 127) {
            out.write(0x82);
            out.write(content.size() >> 8);
        }
        out.write(content.size());
        out.writeBytes(content.toByteArray());
        return out.toByteArray();
    }

    private static String block(String label, byte[] der) {
        return "-----BEGIN " + label + "-----\n" + Base64.getMimeEncoder().encodeToString(der) + "\n-----END " + label
                + "-----\n";
    }

    // ---- files that cannot be used ----------------------------------------------------------------------------------

    @Test
    void eachProblemNamesTheFileAndTheFix() {
        Path missing = file("missing.pem");
        assertProblem(missing + " does not exist: check the path in TlsOptions", trusting(missing));
        assertProblem(missing + " does not exist: check the path in TlsOptions", store(missing, RIGHT));
        assertProblem(folder + " is a directory: give the path of the file in it", trusting(folder));
        assertProblem(folder + " is a directory: give the path of the file in it", store(folder, RIGHT));
        Path empty = certificates.write("empty.pem", "");
        assertProblem(empty + " has no certificate: expected PEM with BEGIN CERTIFICATE", trusting(empty));
        Path damaged = certificates.write("damaged.pem", block("CERTIFICATE", new byte[40]));
        assertProblem(damaged + " has a damaged certificate: replace the file", trusting(damaged));
        Path cut = certificates.write("cut.pem",
                "-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----\n");
        assertProblem(cut + " has a damaged block CERTIFICATE: replace the file", trusting(cut));
        Path half = certificates.write("half.pem", client.getCertificatePEM().substring(0, 200));
        assertProblem(half + " has no certificate: expected PEM with BEGIN CERTIFICATE", trusting(half));
        Path second = certificates.write("second.pem", client.getCertificatePEM() + block("CERTIFICATE", new byte[9]));
        assertProblem(second + " has a damaged certificate: replace the file", trusting(second));
    }

    @Test
    void problemsOfKeysNameTheFix() {
        String certificate = client.getCertificatePEM();
        assertProblem(file("c.key") + " has no private key: expected PEM with BEGIN PRIVATE KEY",
                pem(certificate, certificate));
        for (String old : new String[]{"RSA PRIVATE KEY", "EC PRIVATE KEY"}) {
            assertProblem(file("c.key") + " has a key in the format " + old
                    + ": convert it to PKCS#8 with openssl pkcs8 -topk8 -nocrypt -in OLD -out NEW",
                    pem(certificate, block(old, new byte[100])));
        }
        assertProblem(file("c.key") + " has no EC key, which the certificate needs: use the key of the certificate",
                pem(certificate, certificates.forClient(Algorithm.rsa2048).getPrivateKeyPEM()));
        assertProblem(file("c.key") + " has no EC key, which the certificate needs: use the key of the certificate",
                pem(certificate, block("PRIVATE KEY", new byte[50])));
        assertProblem(file("c.key") + " has a key that cannot be decrypted: check its password",
                pem(certificate, block("ENCRYPTED PRIVATE KEY", new byte[50]), RIGHT));
    }

    @ParameterizedTest
    @ValueSource(strings = {"PKCS12", "JKS"})
    void problemsOfStoresNameTheFix(String type) {
        Path key = certificates.storeFile("key", type, PASSWORD, null, client);
        assertProblem(key + " has another password: check the password in TlsOptions", store(key, "x"::toCharArray));
        assertProblem(key + " has no trusted certificate: add one with keytool -importcert -keystore " + key,
                trustingStore(key, RIGHT));
        Path trusted = certificates.storeFile("trusted", type, PASSWORD, client, null);
        assertProblem(trusted + " has no private key: a client certificate needs its key", store(trusted, RIGHT));
        Path none = certificates.storeFile("none", type, PASSWORD, null, null);
        assertProblem(none + " has no trusted certificate: add one with keytool -importcert -keystore " + none,
                trustingStore(none, RIGHT));
        assertProblem(none + " has no private key: a client certificate needs its key", store(none, RIGHT));
        Path text = certificates.write("text", "no store");
        assertProblem(text + " is damaged or neither PKCS12 nor JKS: replace the file", store(text, RIGHT));
    }

    /** The JDK reads a PKCS12 file without its password, and leaves its certificates out. */
    @Test
    void aStoreWithoutItsPasswordIsNotCalledEmpty() throws Exception {
        Path p12 = certificates.storeFile("p12", "PKCS12", PASSWORD, certificates.authority(), client);
        Path trusted = certificates.storeFile("trusted", "PKCS12", PASSWORD, certificates.authority(), null);
        Path jks = certificates.storeFile("jks", "JKS", PASSWORD, certificates.authority(), client);
        for (TlsSpec spec : List.of(trustingStore(p12, () -> null), store(p12, () -> null),
                trustingStore(trusted, () -> null), store(trusted, () -> null), store(jks, () -> null))) {
            Path file = ((TlsSpec.StoreFile) (spec.trust() == null ? spec.identity() : spec.trust())).file();
            assertProblem("there is no password for " + file
                    + ": its supplier returned null; return the password of the file", spec);
        }
        // The certificates of these are not encrypted.
        read(trustingStore(jks, () -> null));
        Path key = certificates.storeFile("key", "JKS", PASSWORD, null, client);
        assertProblem(key + " has no trusted certificate: add one with keytool -importcert -keystore " + key,
                trustingStore(key, () -> null));
        Path open = openStore(client.getCertificate());
        read(trustingStore(open, () -> null));
        assertProblem(open + " has no private key: a client certificate needs its key", store(open, () -> null));
    }

    /** A PKCS12 file whose certificates are not encrypted, as that of newer JDKs. */
    private Path openStore(X509Certificate trusted) throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        store.setCertificateEntry("trusted", trusted);
        Path file = file("open");
        System.setProperty("keystore.pkcs12.certProtectionAlgorithm", "NONE");
        try (OutputStream out = Files.newOutputStream(file)) {
            store.store(out, PASSWORD);
        } finally {
            System.clearProperty("keystore.pkcs12.certProtectionAlgorithm");
        }
        return file;
    }

    /** Some languages throw checked exceptions without declaring them. */
    @SuppressWarnings("unchecked")
    private static <X extends Throwable> char[] throwUndeclared(Throwable thrown) throws X {
        throw (X) thrown;
    }

    @Test
    void aPasswordSupplierThatThrowsIsReportedWithoutItsMessage() throws Exception {
        Path store = certificates.storeFile("key", "PKCS12", PASSWORD, certificates.authority(), client);
        String certificate = client.getCertificatePEM();
        String key = encrypted("PBEWithHmacSHA256AndAES_256", client.getKeyPair().getPrivate().getEncoded());
        for (Throwable thrown : List.of(new IllegalStateException("secret"), new IOException("secret"),
                new GeneralSecurityException("secret"), new AssertionError("secret"))) {
            Supplier<char[]> password = () -> TlsFilesTest.<RuntimeException>throwUndeclared(thrown);
            String threw = " threw " + thrown.getClass().getName();
            assertProblem("the password supplier of " + store + threw, trustingStore(store, password));
            assertProblem("the password supplier of " + store + threw, store(store, password));
            assertProblem("the password supplier of " + file("c.key") + threw, pem(certificate, key, password));
        }
    }

    @Test
    void theLengthOfAFileIsLimited() throws Exception {
        byte[] limit = new byte[TlsFiles.LENGTH_MAX];
        Path file = file("long.pem");
        Files.write(file, limit);
        assertProblem(file + " has no certificate: expected PEM with BEGIN CERTIFICATE", trusting(file));
        Files.write(file, Arrays.copyOf(limit, limit.length + 1));
        assertProblem(file + " is longer than " + TlsFiles.LENGTH_MAX + " bytes: check the path in TlsOptions",
                trusting(file));
    }

    /** Each change of one byte either leaves the meaning or is a problem with a text, never another exception. */
    @Test
    void damagedFilesAreProblemsAndNothingElse() throws Exception {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        Path p12 = certificates.storeFile("fuzz.p12", "PKCS12", PASSWORD, certificates.authority(), client);
        Path pem = certificates.certificateFile("fuzz", client);
        Path key = certificates.keyFile("fuzz", client);
        TlsSpec byPem = of(new TlsSpec.PemTrust(List.of(pem)), new TlsSpec.PemIdentity(pem, key, () -> null));
        TlsSpec byStore = of(new TlsSpec.StoreFile(p12, RIGHT), new TlsSpec.StoreFile(p12, RIGHT));
        int[] problems = new int[1];
        for (Path file : new Path[]{pem, key, p12}) {
            byte[] good = Files.readAllBytes(file);
            for (int i = 0; i < 60; i++) {
                byte[] bad = good.clone();
                bad[random.nextInt(bad.length)] ^= 1 << random.nextInt(8);
                Files.write(file, random.nextInt(4) == 0 ? Arrays.copyOf(bad, random.nextInt(bad.length)) : bad);
                try {
                    read(file == p12 ? byStore : byPem);
                } catch (TlsFileException e) {
                    problems[0]++;
                    assertNotNull(e.getMessage());
                } catch (RuntimeException e) {
                    throw new AssertionError("seed " + seed + ", " + file, e);
                }
            }
            Files.write(file, good);
        }
        assertFalse(problems[0] < 50, "seed " + seed + ": " + problems[0] + " of 180 damaged files were noticed");
    }

    // ---- changes ----------------------------------------------------------------------------------------------------

    @Test
    void theDigestShowsEachChangeWhateverTheTimeOfTheFile() throws Exception {
        Path a = certificates.write("a", "12");
        Path b = certificates.write("b", "34");
        byte[] before = TlsFiles.read(trusting(a, b)).digest();
        assertArrayEquals(before, TlsFiles.read(trusting(a, b)).digest());
        FileTime time = Files.getLastModifiedTime(a);
        Files.writeString(a, "13");
        Files.setLastModifiedTime(a, time);
        assertFalse(Arrays.equals(before, TlsFiles.read(trusting(a, b)).digest()));
        Files.writeString(a, "123");
        Files.writeString(b, "4");
        assertFalse(Arrays.equals(before, TlsFiles.read(trusting(a, b)).digest()), "the border between files counts");
    }
}
