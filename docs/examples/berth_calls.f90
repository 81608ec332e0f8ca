! Calls libberth from Fortran: where to run (Bind), where to allocate (Allocate), which path a copy takes
! (Route). Built with the module that is installed beside berth.h:
!
!     gfortran -o berth_calls $(pkg-config --variable=includedir libberth)/berth.f90 berth_calls.f90 \
!         $(pkg-config --libs libberth)
!
! usage: berth_calls TASKS: the whole node's berths for so many tasks, the best memory for 1 GiB, and,
! with gpu1, the best path from gpu0 to gpu1.
program berth_calls
    use berth
    implicit none
    type(c_ptr) :: handle
    character(len=16) :: argument
    integer :: tasks, failed
    call get_command_argument(1, argument)
    read (argument, *, iostat=failed) tasks
    if (failed /= 0) then
        print '(a)', "usage: berth_calls TASKS"
        stop 64
    end if
    handle = berth_new()
    if (.not. c_associated(handle)) stop 71
    call berth_set_timeout(handle, 2000_c_int)
    if (berth_connect(handle, c_null_ptr) < 0) call give_up
    call print_berths
    call print_memory
    call print_path
    call berth_free(handle)

contains

    subroutine give_up
        print '(a)', "berth_calls: " // berth_text(berth_error_detail(handle))
        call berth_free(handle)
        stop 1
    end subroutine

    subroutine print_berths
        type(berth_bind_request) :: request
        type(c_ptr) :: answer
        type(berth_binding), pointer :: binding
        type(berth_task), pointer :: task(:)
        type(c_ptr), pointer :: gpus(:)
        character(len=:), allocatable :: line
        integer :: i, j
        call berth_bind_request_init(request)
        request%tasks = tasks
        request%whole_node = 1
        if (berth_bind(handle, request, answer) < 0) call give_up
        call c_f_pointer(answer, binding)
        call c_f_pointer(binding%tasks, task, [binding%task_count])
        do i = 1, size(task)
            line = "cpus " // berth_text(task(i)%cpus)
            if (task(i)%gpus%count > 0) call c_f_pointer(task(i)%gpus%item, gpus, [task(i)%gpus%count])
            do j = 1, int(task(i)%gpus%count)
                line = line // " " // berth_text(gpus(j))
            end do
            print '(a, i0, a)', "task ", task(i)%task, ": " // line
        end do
        call berth_binding_free(answer)
    end subroutine

    subroutine print_memory
        type(berth_allocate_request) :: request
        type(c_ptr) :: answer
        type(berth_allocation), pointer :: allocation
        type(berth_memory_option), pointer :: option
        call berth_allocate_request_init(request)
        request%bytes = 1073741824_c_int64_t
        request%whole_node = 1
        if (berth_allocate(handle, request, answer) < 0) call give_up
        call c_f_pointer(answer, allocation)
        if (allocation%option_count > 0) then
            call c_f_pointer(allocation%options, option) ! the first one is the best
            print '(a)', "allocate on " // berth_text(option%memory) // ": " // berth_text(option%call)
        end if
        call berth_allocation_free(answer)
    end subroutine

    subroutine print_path
        type(berth_route_request) :: request
        type(c_ptr) :: answer
        type(berth_routes), pointer :: routes
        type(berth_route_option), pointer :: option
        character(kind=c_char, len=5), target :: from = "gpu0" // c_null_char, to = "gpu1" // c_null_char
        integer(c_int) :: status
        request%from = c_loc(from)
        request%to = c_loc(to)
        request%bytes = 67108864_c_int64_t
        request%whole_node = 1
        status = berth_route(handle, request, answer)
        if (status == BERTH_ERROR_NO_SUCH_PLACE) return ! a node with fewer gpus
        if (status < 0) call give_up
        call c_f_pointer(answer, routes)
        call c_f_pointer(routes%options, option)
        print '(a, f0.3, a)', "copy in ", option%predicted%time_ns / 1e6, " ms: " // berth_text(option%call)
        call berth_routes_free(answer)
    end subroutine

end program
