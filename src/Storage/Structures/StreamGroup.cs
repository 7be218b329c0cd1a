using System.Runtime.InteropServices;

namespace Kv.Storage;

//  group, a piece of the stream's region:
//   0         16             24            40            52      56            60     64
//  +---------+--------------+-------------+-------------+-------+-------------+------+
//  | last id | entries read | pending 16  | consumers 12| spare | name length | name |        entries read -1: not known
//  +---------+--------------+-------------+-------------+-------+-------------+------+
//
//  consumer, a piece:
//   0      8        16           32            36
//  +------+--------+------------+-------------+------+
//  | seen | active | pending 16 | name length | name |        unix ms; active -1: never
//  +------+--------+------------+-------------+------+
//
//  pending of a group:     a tree of ids, each with   | delivered, unix ms 8 | deliveries 8 | consumer 4 |
//  pending of a consumer:  a tree of its ids, without payloads: the group's tree has the rest

/// <summary>What is known of an entry that a consumer has got and not acknowledged.</summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal struct PendingEntry
{
    public const int Bytes = 20;

    /// <summary>When it was last delivered, unix ms.</summary>
    public long DeliveredMs;

    /// <summary>How often.</summary>
    public long Deliveries;

    /// <summary>Who has it: the name of the consumer's record in the region.</summary>
    public uint Consumer;
}

/// <summary>A group of consumers of a stream.</summary>
/// <remarks>A view: it holds until the next reservation.</remarks>
internal readonly unsafe struct StreamGroup(Region region, uint name)
{
    public const int RecordBytes = 56;

    /// <summary>What <see cref="EntriesRead"/> says when it is not known.</summary>
    public const long NotKnown = -1;

    public bool Exists => name != 0;

    /// <summary>The name of its record in the region.</summary>
    public uint Record => name;
    public ref StreamId LastId => ref *(StreamId*)At;

    /// <summary>How many entries of all that there ever were are up to there.</summary>
    public ref long EntriesRead => ref *(long*)(At + 16);

    /// <summary>What was delivered and not acknowledged, by id.</summary>
    public IdTree Pending => new(region, (IdTreeHead*)(At + 24), PendingEntry.Bytes);

    public NameTable Consumers => ConsumersOf(region, At);

    public ReadOnlySpan<byte> Name => new(At + RecordBytes + sizeof(int), *(int*)(At + RecordBytes));

    private byte* At => region.At(name);

    /// <summary>A consumer by name; see <see cref="StreamConsumer.Exists"/>.</summary>
    public StreamConsumer Find(ReadOnlySpan<byte> consumer) => new(region, Consumers.Find(consumer));

    /// <summary>A consumer by its place in the order of names.</summary>
    public StreamConsumer ConsumerAt(int index) => new(region, Consumers[index]);

    /// <summary>The consumer of something pending.</summary>
    public StreamConsumer ConsumerOf(PendingEntry* pending) => new(region, pending->Consumer);

    /// <summary>The name of that consumer.</summary>
    public ReadOnlySpan<byte> ConsumerNameOf(PendingEntry pending) => ConsumerOf(&pending).Name;

    private static NameTable ConsumersOf(Region region, byte* at) =>
        new(region, (NameTableHead*)(at + 40), StreamConsumer.RecordBytes);
}

/// <summary>A consumer of a group.</summary>
/// <remarks>A view: it holds until the next reservation.</remarks>
internal readonly unsafe struct StreamConsumer(Region region, uint name)
{
    public const int RecordBytes = 32;

    /// <summary>What <see cref="ActiveMs"/> says of one that never got anything.</summary>
    public const long Never = -1;

    public bool Exists => name != 0;

    /// <summary>The name of its record in the region.</summary>
    public uint Record => name;

    /// <summary>When it last asked for anything, unix ms.</summary>
    public ref long SeenMs => ref *(long*)At;

    /// <summary>When it last got anything, unix ms.</summary>
    public ref long ActiveMs => ref ((long*)At)[1];

    /// <summary>The ids of what it got and did not acknowledge.</summary>
    public IdTree Pending => new(region, (IdTreeHead*)(At + 16), 0);

    public ReadOnlySpan<byte> Name => new(At + RecordBytes + sizeof(int), *(int*)(At + RecordBytes));

    private byte* At => region.At(name);
}
