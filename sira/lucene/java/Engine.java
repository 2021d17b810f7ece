package sira;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.AnalyzerWrapper;
import org.apache.lucene.analysis.TokenFilter;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.analysis.tokenattributes.PositionIncrementAttribute;
import org.apache.lucene.analysis.tokenattributes.TermToBytesRefAttribute;
import org.apache.lucene.document.BinaryDocValuesField;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.DoublePoint;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.document.LongPoint;
import org.apache.lucene.document.NumericDocValuesField;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.index.*;
import org.apache.lucene.search.*;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.search.similarities.PerFieldSimilarityWrapper;
import org.apache.lucene.search.similarities.Similarity;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.FSDirectory;
import org.apache.lucene.util.Bits;
import org.apache.lucene.util.BytesRef;
import org.apache.lucene.util.BytesRefBuilder;
import org.apache.lucene.util.FixedBitSet;

/**
 * What must not cross the border between Python and Java term by term: batched analysis, writing, df, and a whole
 * program in, (docid, score) out.
 *
 * <p>Everything is a static method over integer handles: pyjnius keeps one object a method name and class, so that bound
 * methods of two instances called from two threads can be mixed up. Batches are byte arrays, little-endian, each string
 * as its UTF-8 length (int32) and bytes, so that any Unicode passes and nothing is escaped.
 *
 * <p>Built by scripts/build-engine into a checked-in jar; Python's side is sira/lucene.
 */
public final class Engine {
  static final String ID = "id", CONTENTS = "contents", EXPANSION = "expansion", FACET = "facet", ORD = "ord";
  static final int HELD = 250_000; // some 60 bytes each
  static final int FREQUENT = 128; // one block of Lucene's postings
  static final String UNION = "union:";
  static final byte UNIT = 0x1f, RECORD = 0x1e;
  static final byte NEVER = (byte) 0xff; // stands in no UTF-8, so it parts docids of any letters
  private static final Map<Integer, AutoCloseable> HANDLES = new ConcurrentHashMap<>();
  private static final Map<String, Analyzer> ANALYZERS = new ConcurrentHashMap<>();
  private static final AtomicInteger NEXT = new AtomicInteger(1);

  static {
    IndexSearcher.setMaxClauseCount(Integer.MAX_VALUE); // G06: no silent limit; Python bounds requests where it must
    IndexSearcher.setDefaultQueryCache(null); // results must not depend on what was asked before; filters are built once
  }

  private Engine() {}

  private static int register(AutoCloseable value) {
    int handle = NEXT.getAndIncrement();
    HANDLES.put(handle, value);
    return handle;
  }

  @SuppressWarnings("unchecked")
  private static <T> T get(int handle) {
    AutoCloseable value = HANDLES.get(handle);
    if (value == null) throw new IllegalStateException("closed");
    return (T) value;
  }

  /** Closes a writer (without a commit: what was not committed is dropped), an attachment or a reader. */
  public static void close(int handle) throws Exception {
    AutoCloseable value = HANDLES.remove(handle);
    if (value != null) value.close();
  }

  public static String luceneVersion() {
    return org.apache.lucene.util.Version.LATEST.toString();
  }

  // ---------------------------------------------------------------------------------------------- byte arrays

  private static ByteBuffer in(byte[] data) {
    return ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static BytesRef bytes(ByteBuffer in) {
    int length = in.getInt();
    BytesRef ref = new BytesRef(in.array(), in.position(), length);
    in.position(in.position() + length);
    return ref;
  }

  private static String string(ByteBuffer in) {
    BytesRef ref = bytes(in);
    return new String(ref.bytes, ref.offset, ref.length, StandardCharsets.UTF_8);
  }

  /** count, then each string. */
  private static BytesRef[] strings(byte[] data) {
    ByteBuffer in = in(data);
    BytesRef[] strings = new BytesRef[in.getInt()];
    for (int i = 0; i < strings.length; i++) strings[i] = bytes(in);
    return strings;
  }

  /** A growing little-endian output; the same framing as the input. */
  private static final class Out {
    private ByteBuffer buffer = ByteBuffer.allocate(1 << 14).order(ByteOrder.LITTLE_ENDIAN);

    private ByteBuffer room(int n) {
      if (buffer.remaining() < n) {
        int size = Math.max(buffer.capacity() * 2, buffer.position() + n);
        buffer = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN).put(buffer.flip());
      }
      return buffer;
    }

    Out put(int value) {
      room(4).putInt(value);
      return this;
    }

    Out put(float value) {
      room(4).putFloat(value);
      return this;
    }

    Out put(byte value) {
      room(1).put(value);
      return this;
    }

    Out raw(BytesRef ref) {
      room(ref.length).put(ref.bytes, ref.offset, ref.length);
      return this;
    }

    Out put(BytesRef ref) {
      return put(ref.length).raw(ref);
    }

    Out put(String value) {
      return put(new BytesRef(value));
    }

    byte[] take() {
      return Arrays.copyOf(buffer.array(), buffer.position());
    }
  }

  // ------------------------------------------------------------------------------------------------- analysis

  /** "english" is Anserini's default (Porter, Lucene's stop words); any other name is a class of Lucene's. */
  private static Analyzer analyzer(String name) {
    Analyzer known = ANALYZERS.get(name);
    if (known != null) return known;
    try {
      known = name.equals("english")
          ? io.anserini.analysis.DefaultEnglishAnalyzer.newDefaultInstance()
          : (Analyzer) Class.forName(name).getDeclaredConstructor().newInstance();
    } catch (ReflectiveOperationException e) {
      throw new IllegalArgumentException("no analyzer " + name, e);
    }
    known = new Closed(known);
    ANALYZERS.put(name, known);
    return known;
  }

  /**
   * An analyzer whose terms stand side by side: the place that a removed word leaves is closed, so that phrases are windows
   * of analysed terms (sira.analysis.windows). Lengths, which count terms, do not change.
   */
  private static final class Closed extends AnalyzerWrapper {
    private final Analyzer inner;

    Closed(Analyzer inner) {
      super(inner.getReuseStrategy());
      this.inner = inner;
    }

    @Override
    protected Analyzer getWrappedAnalyzer(String field) {
      return inner;
    }

    @Override
    protected TokenStreamComponents wrapComponents(String field, TokenStreamComponents components) {
      return new TokenStreamComponents(components.getSource(), new TokenFilter(components.getTokenStream()) {
        private final PositionIncrementAttribute step = addAttribute(PositionIncrementAttribute.class);

        @Override
        public boolean incrementToken() throws IOException {
          if (!input.incrementToken()) return false;
          step.setPositionIncrement(Math.min(1, step.getPositionIncrement())); // 0: a second term at the same place
          return true;
        }
      });
    }
  }

  /** Texts parted by RECORD in; for each text its terms, parted by UNIT, out, texts parted by RECORD. */
  public static byte[] analyze(String name, byte[] texts) throws IOException {
    Analyzer analyzer = analyzer(name);
    Out out = new Out();
    for (int start = 0; start <= texts.length; ) {
      int end = start;
      while (end < texts.length && texts[end] != RECORD) end++;
      String text = new String(texts, start, end - start, StandardCharsets.UTF_8);
      boolean first = true;
      try (TokenStream stream = analyzer.tokenStream(CONTENTS, text)) {
        TermToBytesRefAttribute term = stream.getAttribute(TermToBytesRefAttribute.class);
        stream.reset();
        while (stream.incrementToken()) {
          if (!first) out.put(UNIT);
          out.raw(term.getBytesRef());
          first = false;
        }
        stream.end();
      }
      if (end < texts.length) out.put(RECORD);
      start = end + 1;
    }
    return out.take();
  }

  // -------------------------------------------------------------------------------------------------- writing

  private static FieldType type(IndexOptions options, boolean tokenized, boolean omitNorms) {
    FieldType type = new FieldType();
    type.setIndexOptions(options);
    type.setTokenized(tokenized);
    type.setOmitNorms(omitNorms);
    type.freeze();
    return type;
  }

  private static final FieldType CONTENTS_TYPE = type(IndexOptions.DOCS_AND_FREQS_AND_POSITIONS, true, false);
  private static final FieldType EXPANSION_TYPE = type(IndexOptions.DOCS_AND_FREQS, true, false);
  private static final FieldType FACET_TYPE = type(IndexOptions.DOCS, false, true);

  private static IndexWriterConfig config(Analyzer analyzer, double bufferMb, boolean create) {
    IndexWriterConfig config = new IndexWriterConfig(analyzer);
    config.setOpenMode(create ? IndexWriterConfig.OpenMode.CREATE : IndexWriterConfig.OpenMode.APPEND);
    config.setRAMBufferSizeMB(Math.max(1, Math.min(bufferMb, Runtime.getRuntime().maxMemory() / 4e6))); // a part of the heap
    config.setUseCompoundFile(false);
    config.setCommitOnClose(false);
    TieredMergePolicy policy = new TieredMergePolicy();
    policy.setForceMergeDeletesPctAllowed(0); // after an update every df counts living documents only
    config.setMergePolicy(policy);
    return config;
  }

  private static final class Writer implements AutoCloseable {
    final Directory directory;
    final IndexWriter writer;

    Writer(Path path, IndexWriterConfig config) throws IOException {
      directory = FSDirectory.open(path);
      writer = new IndexWriter(directory, config);
    }

    @Override
    public void close() throws IOException {
      if (writer.isOpen()) writer.rollback();
      directory.close();
    }
  }

  public static int openWriter(String path, String analyzer, double bufferMb, boolean create) throws IOException {
    return register(new Writer(Path.of(path), config(analyzer(analyzer), bufferMb, create)));
  }

  /**
   * Adds a batch: count, then for each document: ord, id, contents, then stored fields (count, name, value), facets
   * (count, value), numbers (count, name, 'l' or 'd', 8 bytes). Safe from several threads.
   */
  public static void addDocuments(int handle, byte[] batch) throws IOException {
    IndexWriter writer = Engine.<Writer>get(handle).writer;
    ByteBuffer in = in(batch);
    for (int n = in.getInt(); n > 0; n--) writer.addDocument(document(in));
  }

  private static Document document(ByteBuffer in) {
    Document document = new Document();
    document.add(new NumericDocValuesField(ORD, in.getInt()));
    BytesRef id = BytesRef.deepCopyOf(bytes(in));
    document.add(new StringField(ID, id, Field.Store.NO));
    document.add(new StoredField(ID, id.utf8ToString()));
    document.add(new BinaryDocValuesField(ID, id));
    String contents = string(in);
    if (!contents.isEmpty()) document.add(new Field(CONTENTS, contents, CONTENTS_TYPE));
    for (int n = in.getInt(); n > 0; n--) document.add(new StoredField(string(in), string(in)));
    for (int n = in.getInt(); n > 0; n--) {
      String facet = string(in);
      document.add(new Field(FACET, facet, FACET_TYPE));
      document.add(new StoredField(FACET, facet));
    }
    for (int n = in.getInt(); n > 0; n--) {
      String name = string(in);
      if (in.get() == 'l') document.add(new LongPoint(name, in.getLong()));
      else document.add(new DoublePoint(name, in.getDouble()));
    }
    return document;
  }

  /** Deletes by id (count, then ids). Returns nothing; ids that are absent are no error. */
  public static void deleteDocuments(int handle, byte[] ids) throws IOException {
    IndexWriter writer = Engine.<Writer>get(handle).writer;
    ByteBuffer in = in(ids);
    for (int n = in.getInt(); n > 0; n--) writer.deleteDocuments(new Term(ID, BytesRef.deepCopyOf(bytes(in))));
  }

  /**
   * The ids of two or more living documents (count, ids). With keepFirst all but the document with the lowest ord are
   * deleted, by a query: it holds whatever merges run meanwhile. Found on the finished postings, so that no list of ids is
   * held while a corpus streams through.
   */
  public static byte[] duplicates(int handle, boolean keepFirst) throws IOException {
    IndexWriter writer = Engine.<Writer>get(handle).writer;
    Out out = new Out().put(0);
    int found = 0;
    try (DirectoryReader reader = DirectoryReader.open(writer)) {
      Terms terms = MultiTerms.getTerms(reader, ID);
      TermsEnum ids = terms == null ? TermsEnum.EMPTY : terms.iterator();
      for (BytesRef id = ids.next(); id != null; id = ids.next()) {
        if (ids.docFreq() == 1) continue; // counts deleted documents too
        Term term = new Term(ID, BytesRef.deepCopyOf(id));
        int living = 0;
        long first = Long.MAX_VALUE;
        for (LeafReaderContext leaf : reader.leaves()) {
          PostingsEnum docs = leaf.reader().postings(term, PostingsEnum.NONE);
          if (docs == null) continue;
          Bits live = leaf.reader().getLiveDocs();
          NumericDocValues ord = leaf.reader().getNumericDocValues(ORD);
          for (int doc = docs.nextDoc(); doc != DocIdSetIterator.NO_MORE_DOCS; doc = docs.nextDoc()) {
            if (live != null && !live.get(doc)) continue;
            living++;
            if (ord.advanceExact(doc)) first = Math.min(first, ord.longValue());
          }
        }
        if (living < 2) continue;
        found++;
        out.put(term.bytes());
        if (keepFirst) {
          writer.deleteDocuments(new BooleanQuery.Builder()
              .add(new TermQuery(term), BooleanClause.Occur.FILTER)
              .add(NumericDocValuesField.newSlowRangeQuery(ORD, first + 1, Long.MAX_VALUE), BooleanClause.Occur.FILTER).build());
        }
      }
    }
    byte[] reply = out.take();
    in(reply).putInt(found);
    return reply;
  }

  /** Merges deletions away, so that df and lengths count living documents only, then commits and waits for merges. */
  public static void commit(int handle) throws IOException {
    IndexWriter writer = Engine.<Writer>get(handle).writer;
    if (writer.hasDeletions()) writer.forceMergeDeletes(true);
    commit(writer);
    writer.getConfig().getMergeScheduler().close();
    writer.commit();
  }

  /** Lays into the commit the df of the union of contents and expansion for the terms whose counting takes long. */
  private static void commit(IndexWriter writer) throws IOException {
    Map<String, String> counted = new HashMap<>();
    try (DirectoryReader reader = DirectoryReader.open(writer)) {
      Terms terms = MultiTerms.getTerms(reader, EXPANSION);
      TermsEnum dictionary = terms == null ? TermsEnum.EMPTY : terms.iterator();
      for (BytesRef term = dictionary.next(); term != null; term = dictionary.next()) {
        if (dictionary.docFreq() < FREQUENT || reader.docFreq(new Term(CONTENTS, term)) < FREQUENT) continue;
        counted.put(UNION + term.utf8ToString(), "" + frequencies(reader, CONTENTS, EXPANSION, term)[0]);
      }
    }
    writer.setLiveCommitData(counted.entrySet());
    writer.commit();
  }

  // ------------------------------------------------------------------------- expansions: attached, dropped, replaced

  /** Terms given one by one: words advance the position, atoms stand upon it, so that lengths count words (norms). */
  private static final class GivenTerms extends TokenStream {
    private final CharTermAttribute term = addAttribute(CharTermAttribute.class);
    private final PositionIncrementAttribute step = addAttribute(PositionIncrementAttribute.class);
    private String[] terms = {};
    private int words, at;

    @Override
    public void reset() {
      at = 0;
    }

    @Override
    public boolean incrementToken() {
      if (at == terms.length) return false;
      clearAttributes();
      term.append(terms[at]);
      step.setPositionIncrement(at < words || at == 0 ? 1 : 0);
      at++;
      return true;
    }
  }

  /**
   * A new index made of the documents of an old one and of other expansions, without analysing a text again: the
   * expansions of each segment are written to an index of their own in the segment's order (index sort), laid beside
   * it (ParallelLeafReader, its old expansions hidden) and merged into the new index.
   */
  private static final class Attachment implements AutoCloseable {
    final Directory baseDirectory;
    final DirectoryReader base;
    final List<IndexWriter> writers = new ArrayList<>();
    final List<FixedBitSet> seen = new ArrayList<>();
    final Path work;

    Attachment(Path path, Path work, double bufferMb) throws IOException {
      this.work = work;
      baseDirectory = FSDirectory.open(path);
      base = DirectoryReader.open(baseDirectory);
      for (LeafReaderContext leaf : base.leaves()) {
        IndexWriterConfig config = config(new org.apache.lucene.analysis.core.KeywordAnalyzer(), bufferMb / base.leaves().size(), true);
        config.setIndexSort(new Sort(new SortField(ORD, SortField.Type.INT)));
        writers.add(new IndexWriter(FSDirectory.open(work.resolve("leaf-" + leaf.ord)), config));
        seen.add(new FixedBitSet(leaf.reader().maxDoc()));
      }
    }

    @Override
    public void close() throws IOException {
      for (IndexWriter writer : writers) {
        Directory directory = writer.getDirectory();
        if (writer.isOpen()) writer.rollback();
        directory.close();
      }
      base.close();
      baseDirectory.close();
    }
  }

  public static int openAttachment(String basePath, String workPath, double bufferMb) throws IOException {
    return register(new Attachment(Path.of(basePath), Path.of(workPath), bufferMb));
  }

  /**
   * Adds a batch: count, then for each document: id, number of words, number of terms, terms (words first, then
   * atoms). Returns for each document one byte: 0 added, 1 no such document, 2 it had its expansion before.
   */
  public static byte[] addExpansions(int handle, byte[] batch) throws IOException {
    Attachment attachment = get(handle);
    ByteBuffer in = in(batch);
    GivenTerms stream = new GivenTerms();
    NumericDocValuesField ord = new NumericDocValuesField(ORD, 0);
    Document document = new Document();
    document.add(ord);
    document.add(new Field(EXPANSION, stream, EXPANSION_TYPE));
    byte[] outcome = new byte[in.getInt()];
    for (int i = 0; i < outcome.length; i++) {
      Term id = new Term(ID, bytes(in));
      stream.words = in.getInt();
      stream.terms = new String[in.getInt()];
      for (int t = 0; t < stream.terms.length; t++) stream.terms[t] = string(in);
      outcome[i] = 1;
      for (LeafReaderContext leaf : attachment.base.leaves()) {
        int doc = living(leaf.reader(), id);
        if (doc < 0) continue;
        if (attachment.seen.get(leaf.ord).getAndSet(doc)) {
          outcome[i] = 2;
          break;
        }
        outcome[i] = 0;
        ord.setLongValue(doc);
        attachment.writers.get(leaf.ord).addDocument(document);
        break;
      }
    }
    return outcome;
  }

  private static int living(LeafReader reader, Term id) throws IOException {
    PostingsEnum docs = reader.postings(id, PostingsEnum.NONE);
    if (docs == null) return -1;
    Bits live = reader.getLiveDocs();
    for (int doc = docs.nextDoc(); doc != DocIdSetIterator.NO_MORE_DOCS; doc = docs.nextDoc()) {
      if (live == null || live.get(doc)) return doc;
    }
    return -1;
  }

  /** Writes the new index. The attachment stays open until close(). */
  public static void finishAttachment(int handle, String outPath, double bufferMb) throws IOException {
    Attachment attachment = get(handle);
    try (Directory out = FSDirectory.open(Path.of(outPath));
        IndexWriter writer = new IndexWriter(out, config(new org.apache.lucene.analysis.core.KeywordAnalyzer(), bufferMb, true))) {
      for (LeafReaderContext leaf : attachment.base.leaves()) {
        IndexWriter expansions = attachment.writers.get(leaf.ord);
        FixedBitSet seen = attachment.seen.get(leaf.ord);
        Document empty = new Document();
        NumericDocValuesField ord = new NumericDocValuesField(ORD, 0);
        empty.add(ord);
        for (int doc = 0; doc < seen.length(); doc++) {
          if (seen.get(doc)) continue;
          ord.setLongValue(doc);
          expansions.addDocument(empty);
        }
        expansions.forceMerge(1);
        expansions.commit();
        try (DirectoryReader added = DirectoryReader.open(expansions)) {
          if (added.leaves().size() != 1 || added.maxDoc() != seen.length()) {
            throw new IOException("expansions and documents of segment " + leaf.ord + " differ");
          }
          LeafReader joined = new ParallelLeafReader(
              false, new Without(leaf.reader(), EXPANSION), new Without(added.leaves().get(0).reader(), ORD));
          writer.addIndexes(SlowCodecReaderWrapper.wrap(joined));
        }
      }
      commit(writer);
    }
  }

  /** A segment less one field. */
  private static final class Without extends FilterLeafReader {
    private final String field;
    private final FieldInfos infos;

    Without(LeafReader in, String field) {
      super(in);
      this.field = field;
      List<FieldInfo> kept = new ArrayList<>();
      for (FieldInfo info : in.getFieldInfos()) if (!info.name.equals(field)) kept.add(info);
      infos = new FieldInfos(kept.toArray(FieldInfo[]::new));
    }

    @Override
    public FieldInfos getFieldInfos() {
      return infos;
    }

    @Override
    public Terms terms(String name) throws IOException {
      return name.equals(field) ? null : in.terms(name);
    }

    @Override
    public NumericDocValues getNormValues(String name) throws IOException {
      return name.equals(field) ? null : in.getNormValues(name);
    }

    @Override
    public NumericDocValues getNumericDocValues(String name) throws IOException {
      return name.equals(field) ? null : in.getNumericDocValues(name);
    }

    @Override
    public CacheHelper getCoreCacheHelper() {
      return null;
    }

    @Override
    public CacheHelper getReaderCacheHelper() {
      return null;
    }
  }

  // -------------------------------------------------------------------------------------------------- reading

  private static final class Reader implements AutoCloseable {
    final Directory directory;
    final DirectoryReader reader;
    final boolean expanded;
    /** The docids by internal number, where they are few enough to be held; read at the first search. */
    volatile BytesRef[] held;
    final int contentsDocuments, expansionDocuments;
    /** Words (not atoms) in all expansions, the sum of their lengths; -1 where it is not known. */
    final long words;
    /** df of the union of contents and expansion, and of windows: counted when the index was written, or asked since. */
    final Map<BytesRef, Integer> counts = new ConcurrentHashMap<>();

    Reader(Path path, long words) throws IOException {
      this.words = words;
      directory = FSDirectory.open(path);
      reader = DirectoryReader.open(directory);
      contentsDocuments = reader.getDocCount(CONTENTS);
      expansionDocuments = reader.getDocCount(EXPANSION);
      expanded = expansionDocuments > 0;
      for (Map.Entry<String, String> counted : reader.getIndexCommit().getUserData().entrySet()) {
        if (counted.getKey().startsWith(UNION)) {
          counts.put(new BytesRef(counted.getKey().substring(UNION.length())), Integer.valueOf(counted.getValue()));
        }
      }
    }

    int[] union(BytesRef... asked) throws IOException {
      int[] df = new int[asked.length];
      BytesRef[] sought = asked.clone(); // null where the answer is known
      for (int i = 0; i < df.length; i++) {
        Integer known = counts.get(asked[i]);
        if (known == null) continue;
        df[i] = known;
        sought[i] = null;
      }
      int[] counted = frequencies(reader, CONTENTS, EXPANSION, sought);
      for (int i = 0; i < df.length; i++) {
        if (sought[i] != null) df[i] = keep(asked[i], counted[i]);
      }
      return df;
    }

    int keep(BytesRef key, int count) {
      if (counts.size() < 250_000) counts.put(BytesRef.deepCopyOf(key), count);
      return count;
    }

    @Override
    public void close() throws IOException {
      reader.close();
      directory.close();
    }
  }

  public static int openReader(String path, long words) throws IOException {
    return register(new Reader(Path.of(path), words));
  }

  /** The occurrences of single words in all expansions; the other terms are atoms, which have a blank inside. */
  public static long expansionWords(int handle) throws IOException {
    Terms terms = MultiTerms.getTerms(Engine.<Reader>get(handle).reader, EXPANSION);
    long words = 0;
    if (terms == null) return words;
    TermsEnum dictionary = terms.iterator();
    for (BytesRef term = dictionary.next(); term != null; term = dictionary.next()) {
      boolean atom = false;
      for (int i = 0; i < term.length && !atom; i++) atom = term.bytes[term.offset + i] == ' ';
      if (!atom) words += dictionary.totalTermFreq();
    }
    return words;
  }

  /** Lines `key TAB value`: documents, segments, and for each indexed field its statistics and options. */
  public static String describe(int handle) throws IOException {
    DirectoryReader reader = Engine.<Reader>get(handle).reader;
    StringBuilder text = new StringBuilder();
    text.append("documents\t").append(reader.numDocs()).append('\n');
    text.append("segments\t").append(reader.leaves().size()).append('\n');
    for (FieldInfo info : FieldInfos.getMergedFieldInfos(reader)) {
      Terms terms = MultiTerms.getTerms(reader, info.name);
      text.append("field\t").append(info.name).append('\t').append(info.getIndexOptions()).append('\t').append(info.hasNorms());
      text.append('\t').append(terms == null ? 0 : terms.getDocCount());
      text.append('\t').append(terms == null ? 0 : terms.getSumTotalTermFreq());
      text.append('\t').append(terms == null ? 0 : terms.getSumDocFreq()).append('\n');
    }
    if (reader.numDocs() > 0) {
      for (LeafReaderContext leaf : reader.leaves()) {
        Bits live = leaf.reader().getLiveDocs();
        int doc = 0;
        while (live != null && doc < leaf.reader().maxDoc() && !live.get(doc)) doc++;
        if (doc == leaf.reader().maxDoc()) continue;
        for (IndexableField field : leaf.reader().storedFields().document(doc)) {
          text.append("stored\t").append(field.name()).append('\n');
        }
        break;
      }
    }
    return text.toString();
  }

  /**
   * df of terms (count, terms). The field is contents, expansion, facet, id, or union (documents that hold the term in
   * contents or in expansion, exact). Returns count int32. Deletions are merged away at commit, so df counts living
   * documents.
   */
  public static byte[] df(int handle, String field, byte[] terms) throws IOException {
    Reader reader = get(handle);
    BytesRef[] asked = strings(terms);
    boolean union = field.equals("union");
    int[] df = union && reader.expanded
        ? reader.union(asked) : frequencies(reader.reader, union ? CONTENTS : field, null, asked);
    ByteBuffer out = ByteBuffer.allocate(4 * df.length).order(ByteOrder.LITTLE_ENDIAN);
    out.asIntBuffer().put(df);
    return out.array();
  }

  /** The documents that hold a term in one field or in the other; 0 for a null term. */
  private static int[] frequencies(DirectoryReader reader, String field, String other, BytesRef... asked) throws IOException {
    int[] df = new int[asked.length];
    for (LeafReaderContext leaf : reader.leaves()) {
      TermsEnum ones = dictionary(leaf, field), others = dictionary(leaf, other);
      PostingsEnum a = null, b = null;
      for (int i = 0; i < df.length; i++) {
        if (asked[i] == null) continue;
        boolean one = ones.seekExact(asked[i]), two = others.seekExact(asked[i]);
        if (one) df[i] += ones.docFreq();
        if (two) df[i] += others.docFreq();
        if (one && two) df[i] -= both(a = ones.postings(a, PostingsEnum.NONE), b = others.postings(b, PostingsEnum.NONE));
      }
    }
    return df;
  }

  private static TermsEnum dictionary(LeafReaderContext leaf, String field) throws IOException {
    Terms terms = field == null ? null : leaf.reader().terms(field);
    return terms == null ? TermsEnum.EMPTY : terms.iterator();
  }

  private static int both(PostingsEnum a, PostingsEnum b) throws IOException {
    if (a.cost() > b.cost()) return both(b, a);
    int both = 0;
    for (int doc = a.nextDoc(), other = -1; doc != DocIdSetIterator.NO_MORE_DOCS; doc = a.nextDoc()) {
      if (other < doc) other = b.advance(doc);
      if (other == doc) both++;
    }
    return both;
  }

  /** For each term one byte for each document: 1 where the document holds the term in one of the fields named. */
  public static byte[] holds(int handle, boolean contents, boolean expansion, byte[] ids, byte[] terms) throws IOException {
    BytesRef[] documents = strings(ids), asked = strings(terms);
    byte[] holds = new byte[documents.length * asked.length];
    for (LeafReaderContext leaf : Engine.<Reader>get(handle).reader.leaves()) {
      long[] found = new long[documents.length];
      int here = 0;
      for (int i = 0; i < documents.length; i++) {
        int doc = living(leaf.reader(), new Term(ID, documents[i]));
        if (doc >= 0) found[here++] = (long) doc << 32 | i;
      }
      Arrays.sort(found, 0, here);
      for (String field : new String[] {contents ? CONTENTS : null, expansion ? EXPANSION : null}) {
        TermsEnum dictionary = dictionary(leaf, field);
        PostingsEnum postings = null;
        for (int t = 0; t < asked.length; t++) {
          if (!dictionary.seekExact(asked[t])) continue;
          postings = dictionary.postings(postings, PostingsEnum.NONE);
          for (int i = 0; i < here; i++) {
            int doc = (int) (found[i] >>> 32);
            if (postings.docID() < doc) postings.advance(doc);
            if (postings.docID() == doc) holds[t * documents.length + (int) found[i]] = 1;
          }
        }
      }
    }
    return holds;
  }

  /**
   * df of windows of several words: the documents that hold them side by side in contents, or (with atoms) as an atom
   * in expansion. In: count, then for each window the number of its words and the words. Out: count int32.
   */
  public static byte[] windowDf(int handle, boolean atoms, byte[] windows) throws IOException {
    Reader reader = get(handle);
    IndexSearcher searcher = new IndexSearcher(reader.reader);
    Terms contents = MultiTerms.getTerms(reader.reader, CONTENTS);
    ByteBuffer in = in(windows);
    Out out = new Out();
    for (int n = in.getInt(); n > 0; n--) {
      BytesRef[] words = new BytesRef[in.getInt()];
      BytesRefBuilder atom = new BytesRefBuilder(), key = new BytesRefBuilder();
      for (int w = 0; w < words.length; w++) {
        words[w] = BytesRef.deepCopyOf(bytes(in));
        if (w > 0) atom.append((byte) ' ');
        atom.append(words[w]);
        key.append(words[w]);
        key.append(NEVER);
      }
      key.append((byte) (atoms ? 1 : 0));
      Integer known = reader.counts.get(key.get());
      if (known == null) {
        BooleanQuery.Builder any = new BooleanQuery.Builder();
        if (contents != null && contents.hasPositions()) any.add(new PhraseQuery(CONTENTS, words), BooleanClause.Occur.SHOULD);
        if (atoms && reader.expanded) any.add(new TermQuery(new Term(EXPANSION, atom.get())), BooleanClause.Occur.SHOULD);
        known = reader.keep(key.get(), searcher.count(any.build()));
      }
      out.put(known);
    }
    return out.take();
  }

  /** The terms of a field with df >= least, in term order: up to `limit` of them after `after`; each as df and term. */
  public static byte[] terms(int handle, String field, int least, String after, int limit) throws IOException {
    Terms terms = MultiTerms.getTerms(Engine.<Reader>get(handle).reader, field);
    Out out = new Out();
    if (terms == null) return out.take();
    TermsEnum dictionary = terms.iterator();
    BytesRef from = new BytesRef(after);
    BytesRef term;
    if (from.length == 0) term = dictionary.next();
    else {
      TermsEnum.SeekStatus status = dictionary.seekCeil(from);
      term = status == TermsEnum.SeekStatus.END ? null
          : status == TermsEnum.SeekStatus.FOUND ? dictionary.next() : dictionary.term();
    }
    for (; term != null && limit > 0; term = dictionary.next()) {
      if (dictionary.docFreq() < least) continue;
      out.put(dictionary.docFreq()).put(term);
      limit--;
    }
    return out.take();
  }

  /** Stored fields of documents (count, ids): for each the number of its fields (-1: no such document), names, values. */
  public static byte[] stored(int handle, byte[] ids) throws IOException {
    DirectoryReader reader = Engine.<Reader>get(handle).reader;
    ByteBuffer in = in(ids);
    Out out = new Out();
    for (int n = in.getInt(); n > 0; n--) {
      Term id = new Term(ID, bytes(in));
      Document found = null;
      for (LeafReaderContext leaf : reader.leaves()) {
        int doc = living(leaf.reader(), id);
        if (doc >= 0) {
          found = leaf.reader().storedFields().document(doc);
          break;
        }
      }
      if (found == null) {
        out.put(-1);
        continue;
      }
      out.put(found.getFields().size());
      for (IndexableField field : found) {
        out.put(field.name());
        String value = field.stringValue();
        if (value != null) out.put(value);
        else out.put(field.binaryValue() != null ? field.binaryValue() : new BytesRef(String.valueOf(field.numericValue())));
      }
    }
    return out.take();
  }

  // ------------------------------------------------------------------------------------------------- searching

  /**
   * BM25 for all fields; a facet scores weight * idf (k1 = 0 makes the tf part 1). Combined fields (CombinedFieldQuery asks
   * for a pseudo field) are at the k1 of their scale, phrases on contents alone are not.
   */
  private static final class Similarities extends PerFieldSimilarityWrapper {
    private static final Similarity ATOMIC = new BM25Similarity(0f, 0f);
    private final Similarity contents, expansion, combined;

    Similarities(double contentsK1, double expansionK1, double combinedK1, float b) {
      contents = new BM25Similarity((float) contentsK1, b);
      expansion = new BM25Similarity((float) expansionK1, b);
      combined = new BM25Similarity((float) combinedK1, b);
    }

    @Override
    public Similarity get(String field) {
      return switch (field) {
        case FACET -> ATOMIC;
        case CONTENTS -> contents;
        case EXPANSION -> expansion;
        default -> combined;
      };
    }
  }

  /**
   * A program as it arrives: scoring, clauses as queries, exclusions and filters apart. It searches on Lucene's statistics
   * with two corrections. For bm25f a term's df is that of the union; stock CombinedFieldQuery takes the larger one of the
   * two fields. The average length of expansions counts words, as their norms do, and not atoms.
   */
  private static final class Search extends IndexSearcher {
    final Reader source;
    final boolean bm25f, onContents, onExpansion, union;
    final float contentsWeight, expansionWeight;
    final List<Query> scored = new ArrayList<>();
    final List<Boolean> required = new ArrayList<>();
    final List<Integer> ordinal = new ArrayList<>();
    final List<Query> narrow = new ArrayList<>();
    final List<Query> broad = new ArrayList<>();
    final BooleanQuery.Builder excluded = new BooleanQuery.Builder();
    boolean excludes;
    int clauses;

    Search(Reader source, byte[] program) throws IOException {
      super(source.reader);
      this.source = source;
      ByteBuffer in = in(program);
      bm25f = in.get() == 'f';
      double k1 = in.getDouble(), b = in.getDouble(), contents = in.getDouble(), expansion = in.getDouble();
      onContents = contents > 0;
      onExpansion = source.expanded && expansion > 0;
      union = bm25f && onContents && onExpansion;
      // CombinedFieldQuery takes weights >= 1 only. (v, w) at k1 scores as (s v, s w) at s k1, since length / average
      // length does not change; by the same rule one field of weight w alone is that field at k1 / w.
      double scale = union ? Math.max(1, 1 / Math.min(contents, expansion)) : 1;
      contentsWeight = (float) (contents * scale);
      expansionWeight = (float) (expansion * scale);
      setSimilarity(
          new Similarities(bm25f && onContents ? k1 / contents : k1, bm25f && onExpansion ? k1 / expansion : k1, k1 * scale, (float) b));
      clauses = in.getInt();
      for (int i = 0; i < clauses; i++) clause(i, in);
    }

    private void clause(int i, ByteBuffer in) throws IOException {
      byte occur = in.get(), kind = in.get();
      float weight = (float) in.getDouble();
      boolean scores = occur == '+' || occur == '?';
      if (occur == '?' && weight == 0) scores = false;
      Query query = switch (kind) {
        case 't' -> term(bytes(in), scores);
        case 'p' -> phrase(in);
        case 'a' -> {
          List<Query> alternatives = new ArrayList<>();
          for (int n = in.getInt(); n > 0; n--) alternatives.add(term(bytes(in), scores));
          yield new DisjunctionMaxQuery(alternatives, 0);
        }
        case 'f' -> new TermQuery(new Term(FACET, BytesRef.deepCopyOf(bytes(in))));
        case 'l' -> LongPoint.newRangeQuery(string(in), in.getLong(), in.getLong());
        case 'd' -> DoublePoint.newRangeQuery(string(in), in.getDouble(), in.getDouble());
        default -> throw new IllegalArgumentException("clause kind " + kind);
      };
      if (occur == '-') {
        excluded.add(query, BooleanClause.Occur.SHOULD);
        excludes = true;
      } else if (occur == '#' || (occur == '+' && weight == 0)) {
        (cost(query) < 0.1 * source.reader.maxDoc() ? narrow : broad).add(query);
      } else if (scores && occur == '?' && query instanceof BooleanQuery fields) {
        for (BooleanClause field : fields) { // laid flat: one scorer prunes over the terms of both fields
          scored.add(new BoostQuery(field.query(), weight));
          required.add(false);
          ordinal.add(i);
        }
      } else if (scores) {
        scored.add(new BoostQuery(query, weight));
        required.add(occur == '+');
        ordinal.add(i);
      }
    }

    private Query term(BytesRef ref, boolean scores) {
      BytesRef term = BytesRef.deepCopyOf(ref);
      Query contents = weighted(onContents, new TermQuery(new Term(CONTENTS, term)), contentsWeight);
      if (!onExpansion) return contents;
      Query expansion = weighted(true, new TermQuery(new Term(EXPANSION, term)), expansionWeight);
      if (!onContents) return expansion;
      if (bm25f && scores) {
        return new CombinedFieldQuery.Builder(term)
            .addField(CONTENTS, contentsWeight).addField(EXPANSION, expansionWeight).build();
      }
      return new BooleanQuery.Builder()
          .add(contents, BooleanClause.Occur.SHOULD).add(expansion, BooleanClause.Occur.SHOULD).build();
    }

    /** A query on one field: nothing where the field is dropped; in bm25f the weight is in k1. */
    private Query weighted(boolean used, Query query, float weight) {
      return !used ? MatchNoDocsQuery.INSTANCE : bm25f || weight == 1 ? query : new BoostQuery(query, weight);
    }

    private Query phrase(ByteBuffer in) {
      BytesRef[] words = new BytesRef[in.getInt()];
      for (int w = 0; w < words.length; w++) words[w] = BytesRef.deepCopyOf(bytes(in));
      return weighted(onContents, new PhraseQuery(CONTENTS, words), contentsWeight);
    }

    /** An upper bound of the number of matching documents, from the postings. */
    private long cost(Query query) throws IOException {
      Weight weight = weight(query);
      long cost = 0;
      for (LeafReaderContext leaf : source.reader.leaves()) {
        ScorerSupplier supplier = weight.scorerSupplier(leaf);
        if (supplier != null) cost += supplier.cost();
      }
      return cost;
    }

    private Weight weight(Query query) throws IOException {
      return createWeight(rewrite(query), ScoreMode.COMPLETE_NO_SCORES, 1);
    }

    @Override
    public CollectionStatistics collectionStatistics(String field) throws IOException {
      CollectionStatistics stock = super.collectionStatistics(field);
      if (stock == null || source.words < 0 || !field.equals(EXPANSION)) return stock;
      long words = Math.max(source.words, stock.docCount()); // a document of atoms only has length 1
      long df = Math.max(stock.docCount(), Math.min(stock.sumDocFreq(), words));
      return new CollectionStatistics(field, stock.maxDoc(), stock.docCount(), words, df);
    }

    @Override
    public TermStatistics termStatistics(Term term, int df, long ttf) throws IOException {
      boolean contents = term.field().equals(CONTENTS);
      if (!union || !contents && !term.field().equals(EXPANSION)) return super.termStatistics(term, df, ttf);
      int most = contents ? source.contentsDocuments : source.expansionDocuments;
      int union = Math.min(source.union(term.bytes())[0], most); // df > N: a negative idf
      return new TermStatistics(term.bytes(), union, Math.max(ttf, union));
    }

    boolean empty() {
      return scored.isEmpty() && narrow.isEmpty() && broad.isEmpty();
    }

    /** Scored clauses and narrow filters. A document must match one scored clause at least, where there are any. */
    Query query() {
      BooleanQuery.Builder query = new BooleanQuery.Builder();
      for (int i = 0; i < scored.size(); i++) {
        query.add(scored.get(i), required.get(i) ? BooleanClause.Occur.MUST : BooleanClause.Occur.SHOULD);
      }
      for (Query filter : narrow) query.add(filter, BooleanClause.Occur.FILTER);
      if (scored.isEmpty() && narrow.isEmpty()) {
        for (Query filter : broad) query.add(filter, BooleanClause.Occur.FILTER);
      }
      if (!scored.isEmpty() && !required.contains(true)) query.setMinimumNumberShouldMatch(1);
      return query.build();
    }

    /** Documents of a segment that exclusions and broad filters let through; null where all pass. */
    FixedBitSet accepted(LeafReaderContext leaf) throws IOException {
      if (broad.isEmpty() && !excludes) return null;
      FixedBitSet accepted = new FixedBitSet(leaf.reader().maxDoc());
      accepted.set(0, accepted.length());
      if (leaf.reader().getLiveDocs() != null) leaf.reader().getLiveDocs().applyMask(accepted, 0);
      for (Query filter : broad) accepted.and(matches(filter, leaf));
      if (excludes) accepted.andNot(matches(excluded.build(), leaf));
      return accepted;
    }

    private FixedBitSet matches(Query query, LeafReaderContext leaf) throws IOException {
      FixedBitSet matches = new FixedBitSet(leaf.reader().maxDoc());
      Scorer scorer = weight(query).scorer(leaf);
      if (scorer != null) matches.or(scorer.iterator());
      return matches;
    }

    /** Exclusions and broad filters stand where deletions do, so that Lucene's pruning of low scores keeps its pace. */
    @Override
    protected void searchLeaf(LeafReaderContext leaf, int from, int to, Weight weight, Collector collector) throws IOException {
      FixedBitSet accepted = accepted(leaf);
      ScorerSupplier supplier = accepted == null ? null : weight.scorerSupplier(leaf);
      if (supplier == null) {
        super.searchLeaf(leaf, from, to, weight, collector);
        return;
      }
      LeafCollector found = collector.getLeafCollector(leaf);
      supplier.setTopLevelScoringClause();
      try {
        supplier.bulkScorer().score(found, accepted, from, to);
      } catch (CollectionTerminatedException e) {
        // the collector has what it wants of this segment
      }
      found.finish();
    }

    /**
     * The best k documents, score descending. Lucene breaks ties by internal number, which depends on segments; so where the
     * last score continues beyond k, more is fetched until the tie ends, and the caller orders ties by docid.
     */
    ScoreDoc[] top(int k) throws IOException {
      int most = Math.max(1, source.reader.maxDoc());
      for (int ask = (int) Math.min(most, k + 16L + k / 16); ; ask = (int) Math.min(most, 4L * ask)) {
        ScoreDoc[] hits = search(query(), new TopScoreDocCollectorManager(ask, null, 1)).scoreDocs;
        if (hits.length < ask || ask == most || hits[hits.length - 1].score < hits[k - 1].score) return hits;
      }
    }
  }

  /** Ids of internal documents given in ascending order. */
  private static BytesRef[] ids(DirectoryReader reader, int[] sorted) throws IOException {
    BytesRef[] ids = new BytesRef[sorted.length];
    List<LeafReaderContext> leaves = reader.leaves();
    for (int leaf = 0, i = 0; leaf < leaves.size() && i < sorted.length; leaf++) {
      LeafReaderContext context = leaves.get(leaf);
      int end = context.docBase + context.reader().maxDoc();
      if (sorted[i] >= end) continue;
      FieldInfo info = context.reader().getFieldInfos().fieldInfo(ID);
      DocValuesType type = info == null ? DocValuesType.NONE : info.getDocValuesType();
      BinaryDocValues binary = type == DocValuesType.BINARY ? context.reader().getBinaryDocValues(ID) : null;
      SortedDocValues ordered = type == DocValuesType.SORTED ? context.reader().getSortedDocValues(ID) : null;
      for (; i < sorted.length && sorted[i] < end; i++) {
        int doc = sorted[i] - context.docBase;
        if (binary != null && binary.advanceExact(doc)) ids[i] = BytesRef.deepCopyOf(binary.binaryValue());
        else if (ordered != null && ordered.advanceExact(doc)) ids[i] = BytesRef.deepCopyOf(ordered.lookupOrd(ordered.ordValue()));
        else ids[i] = new BytesRef(context.reader().storedFields().document(doc, Set.of(ID)).get(ID));
      }
    }
    return ids;
  }

  /** Runs a program: count, scores (float32), docids parted by NEVER; score descending, then docid by code point. */
  public static byte[] search(int handle, byte[] program, int k) throws IOException {
    Reader source = get(handle);
    Search search = new Search(source, program);
    ScoreDoc[] hits = search.empty() || k <= 0 ? new ScoreDoc[0] : search.top(k);
    BytesRef[] ids = new BytesRef[hits.length];
    if (source.reader.maxDoc() <= HELD) {
      if (source.held == null) {
        int[] all = new int[source.reader.maxDoc()];
        for (int i = 0; i < all.length; i++) all[i] = i;
        source.held = ids(source.reader, all);
      }
      for (int i = 0; i < hits.length; i++) ids[i] = source.held[hits[i].doc];
    } else {
      long[] byDoc = new long[hits.length];
      for (int i = 0; i < hits.length; i++) byDoc[i] = (long) hits[i].doc << 32 | i;
      Arrays.sort(byDoc);
      int[] docs = new int[hits.length];
      for (int i = 0; i < docs.length; i++) docs[i] = (int) (byDoc[i] >>> 32);
      BytesRef[] found = ids(source.reader, docs);
      for (int i = 0; i < found.length; i++) ids[(int) byDoc[i]] = found[i];
    }
    for (int start = 0; start < hits.length; ) {
      int end = start + 1;
      while (end < hits.length && hits[end].score == hits[start].score) end++;
      if (end - start > 1) Arrays.sort(ids, start, end); // BytesRef compares unsigned bytes: code point order
      start = end;
    }
    int count = Math.min(k, hits.length);
    Out out = new Out().put(Math.max(0, count));
    for (int i = 0; i < count; i++) out.put(hits[i].score);
    for (int i = 0; i < count; i++) {
      if (i > 0) out.put(NEVER);
      out.raw(ids[i]);
    }
    return out.take();
  }

  /** Score of one document under each clause (float32, in the program's order), then its rank (0: not a hit) and score. */
  public static byte[] explain(int handle, byte[] program, byte[] docid) throws IOException {
    Reader source = get(handle);
    Search search = new Search(source, program);
    float[] parts = new float[search.clauses];
    Term id = new Term(ID, new BytesRef(docid));
    LeafReaderContext home = null;
    int target = -1;
    for (LeafReaderContext leaf : source.reader.leaves()) {
      int doc = living(leaf.reader(), id);
      if (doc >= 0) {
        home = leaf;
        target = doc;
        break;
      }
    }
    if (home == null) throw new IllegalArgumentException("no such document");
    for (int i = 0; i < search.scored.size(); i++) {
      Query query = search.rewrite(search.scored.get(i));
      Scorer scorer = search.createWeight(query, ScoreMode.COMPLETE, 1).scorer(home);
      if (scorer != null && scorer.iterator().advance(target) == target) parts[search.ordinal.get(i)] += scorer.score();
    }
    Standing standing = new Standing(home.docBase + target, Float.NaN, null);
    if (!search.empty()) search.search(search.query(), standing);
    float score = standing.score;
    int rank = 0;
    if (!Float.isNaN(score)) {
      Standing better = new Standing(home.docBase + target, score, new BytesRef(docid));
      search.search(search.query(), better);
      int[] ties = better.ties.stream().mapToInt(Integer::intValue).sorted().toArray();
      rank = 1 + better.above;
      for (BytesRef other : ids(source.reader, ties)) if (other.compareTo(better.id) < 0) rank++;
    }
    Out out = new Out();
    for (float part : parts) out.put(part);
    return out.put(rank).put(rank == 0 ? 0f : score).take();
  }

  /** First pass: the score of one document. Second pass: how many score higher, and which tie with it. */
  private static final class Standing implements CollectorManager<SimpleCollector, Void> {
    final int target;
    final BytesRef id;
    final float bar;
    final List<Integer> ties = new ArrayList<>();
    float score = Float.NaN;
    int above;

    Standing(int target, float bar, BytesRef id) {
      this.target = target;
      this.bar = bar;
      this.id = id;
    }

    @Override
    public SimpleCollector newCollector() {
      return new SimpleCollector() {
        private Scorable scorable;
        private int base;

        @Override
        public void setScorer(Scorable scorable) {
          this.scorable = scorable;
        }

        @Override
        protected void doSetNextReader(LeafReaderContext leaf) {
          base = leaf.docBase;
        }

        @Override
        public void collect(int doc) throws IOException {
          if (id == null) {
            if (base + doc == target) score = scorable.score();
            return;
          }
          float other = scorable.score();
          if (other > bar) above++;
          else if (other == bar && base + doc != target) ties.add(base + doc);
        }

        @Override
        public ScoreMode scoreMode() {
          return ScoreMode.COMPLETE;
        }
      };
    }

    @Override
    public Void reduce(java.util.Collection<SimpleCollector> collectors) {
      return null;
    }
  }
}
