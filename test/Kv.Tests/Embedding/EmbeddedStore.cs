using System.Text;
using Kv.Storage;

namespace Kv.Tests.Embedding;

/// <summary>The third program of docs/embedding.md.</summary>
internal static class EmbeddedStore
{
    public static void Run(TextWriter output)
    {
        // begin
        using var store = new Store(new StoreOptions { MaxMemoryBytes = 1L << 30 });

        Parallel.For(0, 1000, i =>
        {
            using var guard = store.Enter();
            var session = guard.Session;
            session.Set(session.Key(Encoding.UTF8.GetBytes($"key:{i}")), "value"u8);
        });

        using (var guard = store.Enter())
        {
            var session = guard.Session;
            var text = new TakeText();
            var status = session.Read(session.Key("key:7"u8), DataType.String, ref text);
            output.WriteLine($"{status}: {text.Text}");
            session.Delete(session.Key("key:7"u8));
            output.WriteLine(session.Read(session.Key("key:7"u8), DataType.String, ref text));
        }

        output.WriteLine(store.Count(database: 0));
        // end
    }

    // begin
    // Runs again when a writer came in between: it only sets its own fields.
    private struct TakeText : IValueRead
    {
        public string? Text;

        public void Read(in ValueView value) => Text = Encoding.UTF8.GetString(value.Bytes);
    }
    // end
}
