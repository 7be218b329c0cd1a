using System.Runtime.InteropServices;

namespace Kv.Storage;

/// <summary>A record whose lock a session owns, and what has become of it so far.</summary>
/// <remarks>
/// While a key is held and absent its record is a placeholder, or a record that is deleted when it is let go: either
/// way its kind is <see cref="ValueKind.Placeholder"/>.
/// </remarks>
internal unsafe struct HeldRecord
{
    // A handle, so that the records of very many keys are no affair of the garbage collector.
    private GCHandle<Database> _database;

    public byte* Record;

    /// <summary>The record's word as it will be, without the lock bit.</summary>
    public ulong Word;

    public ulong Hash;

    /// <summary>The record that will take its place, complete, locked and known to nobody; null: the value is written
    /// in place.</summary>
    public byte* Prepared;
    public ulong PreparedWord;

    /// <summary>Which value of the list is prepared: the last one, when a key is there twice.</summary>
    public int PreparedIndex;

    /// <summary>Which of the transaction's held records it is a copy of.</summary>
    public int LenderIndex;

    public Database Database
    {
        readonly get => _database.Target;
        set => _database = value.Handle;
    }

    public readonly bool Exists => RecordWord.Kind(Word) != ValueKind.Placeholder;

    public readonly ReadOnlySpan<byte> Key => Storage.Record.KeyOf(Record, Word);

    /// <summary>The value as the owner of the lock sees it; the word in memory must be up to date.</summary>
    public readonly ValueView View => Exists ? new ValueView(Record, Storage.Record.ReadWord(Record)) : default;
}
